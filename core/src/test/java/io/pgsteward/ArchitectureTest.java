package io.pgsteward;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass.Predicates;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The layers of core: imports run downwards only, and the edges of the system are few. */
class ArchitectureTest {

  private static final JavaClasses CORE =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("io.pgsteward");

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          model        |
          protocol     |
          budget       |
          allocation   | model
          enforcement  |
          postgres     | model budget
          ledger       | model allocation postgres protocol
          coordination | model allocation postgres budget enforcement ledger protocol
          """)
  void a_package_knows_only_those_below_it(String name, String below) {
    String[] allowed =
        Stream.concat(Stream.of(name), below == null ? Stream.of() : Stream.of(below.split(" ")))
            .map(n -> "io.pgsteward." + n)
            .toArray(String[]::new);

    noClasses()
        .that()
        .resideInAPackage("io.pgsteward." + name)
        .should()
        .dependOnClassesThat(
            Predicates.resideInAPackage("io.pgsteward..")
                .and(Predicates.resideOutsideOfPackages(allowed)))
        .allowEmptyShould(true)
        .check(CORE);
  }

  @Test
  void every_package_is_in_the_table_above() {
    assertThat(packages())
        .extracting(JavaPackage::getRelativeName)
        .isSubsetOf(
            Set.of(
                "model",
                "protocol",
                "budget",
                "allocation",
                "enforcement",
                "postgres",
                "ledger",
                "coordination"));
  }

  @Test
  void there_are_no_cycles() {
    slices().matching("io.pgsteward.(*)..").should().beFreeOfCycles().check(CORE);
  }

  @Test
  void every_package_is_null_marked() {
    assertThat(packages())
        .isNotEmpty()
        .allSatisfy(p -> assertThat(p.isAnnotatedWith(NullMarked.class)).as(p.getName()).isTrue());
  }

  @Test
  void the_json_library_is_known_to_one_class() {
    noClasses()
        .that()
        .doNotHaveFullyQualifiedName("io.pgsteward.protocol.Json")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("com.fasterxml.jackson..")
        .check(CORE);
  }

  @Test
  void the_database_is_known_to_postgres_the_control_loop_and_its_observer() {
    noClasses()
        .that()
        .resideOutsideOfPackage("io.pgsteward.postgres")
        .and()
        .haveNameNotMatching("io\\.pgsteward\\.coordination\\.(ControlLoop|Observer)(\\$.*)?")
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("java.sql..", "javax.sql..")
        .check(CORE);
  }

  @Test
  void nothing_but_the_jdk_and_json_is_needed() {
    classes()
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "io.pgsteward..",
            "java.lang..",
            "java.util..",
            "java.time..",
            "java.io..",
            "java.nio.charset..",
            "java.security..",
            "java.sql..",
            "com.fasterxml.jackson..",
            "org.jspecify.annotations..")
        .check(CORE);
  }

  @Test
  void core_does_not_log() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("java.util.logging..", "org.slf4j..", "ch.qos.logback..")
        .orShould()
        .accessField(System.class, "out")
        .orShould()
        .accessField(System.class, "err")
        .check(CORE);
  }

  @Test
  void time_comes_from_the_ticker_alone() {
    noClasses()
        .that()
        .doNotHaveFullyQualifiedName("io.pgsteward.model.Ticker")
        .should()
        .callMethod(System.class, "nanoTime")
        .orShould()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .dependOnClassesThat()
        .haveFullyQualifiedName("java.time.Clock")
        .check(CORE);
  }

  @Test
  void pure_packages_know_no_threads() {
    noClasses()
        .that()
        .resideInAnyPackage("io.pgsteward.budget", "io.pgsteward.allocation", "io.pgsteward.ledger")
        .should()
        .dependOnClassesThat()
        .resideInAPackage("java.util.concurrent..")
        .orShould()
        .dependOnClassesThat()
        .haveFullyQualifiedName("java.lang.Thread")
        .allowEmptyShould(true)
        .check(CORE);
  }

  private static List<JavaPackage> packages() {
    return CORE.getPackage("io.pgsteward").getSubpackages().stream().toList();
  }
}
