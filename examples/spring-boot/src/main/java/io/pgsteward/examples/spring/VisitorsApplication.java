package io.pgsteward.examples.spring;

import io.pgsteward.jdbc.PgStewardDataSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.context.annotation.Bean;

/** Counts its visitors in PostgreSQL. Everything around the one bean is plain Spring Boot. */
@SpringBootApplication
public class VisitorsApplication {

  /** The whole of what PgSteward needs here; its properties are in application.properties. */
  @Bean
  @ConfigurationProperties("shop.datasource")
  PgStewardDataSource dataSource() {
    return new PgStewardDataSource();
  }

  public static void main(String[] arguments) {
    SpringApplication.run(VisitorsApplication.class, arguments);
  }
}
