package io.pgsteward.examples.spring;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;
import org.springframework.transaction.annotation.Transactional;

/** The table of visitors. */
@Repository
public class Visitors {

  private final JdbcClient jdbc;

  Visitors(JdbcClient jdbc) {
    this.jdbc = jdbc;
  }

  /** Notes a visitor and says how many there were. */
  @Transactional
  public long arrive(String name) {
    jdbc.sql("INSERT INTO visitor (name) VALUES (?)").param(name).update();
    if (name.isBlank()) {
      throw new IllegalArgumentException("a visitor has a name");
    }
    return jdbc.sql("SELECT count(*) FROM visitor").query(Long.class).single();
  }

  /** How many there were. */
  @Transactional(readOnly = true)
  public long count() {
    return jdbc.sql("SELECT count(*) FROM visitor").query(Long.class).single();
  }
}
