package io.pgsteward.server;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** Who may know whom in the coordinator server. */
@AnalyzeClasses(
    packages = "io.pgsteward.server",
    importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule the_server_never_sees_the_driver =
      noClasses().should().dependOnClassesThat().resideInAPackage("io.pgsteward.jdbc..");

  @ArchTest
  static final ArchRule only_http_knows_the_web_server =
      noClasses()
          .that()
          .resideOutsideOfPackage("io.pgsteward.server.http..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.javalin..", "org.eclipse.jetty..", "jakarta..", "io.micrometer..");

  @ArchTest
  static final ArchRule only_config_knows_yaml =
      noClasses()
          .that()
          .resideOutsideOfPackage("io.pgsteward.server.config..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("com.fasterxml.jackson..", "org.yaml..");

  @ArchTest
  static final ArchRule config_knows_neither_http_nor_the_program =
      classes()
          .that()
          .resideInAPackage("io.pgsteward.server.config..")
          .should()
          .onlyDependOnClassesThat()
          .resideInAnyPackage(
              "java..",
              "org.jspecify..",
              "com.fasterxml.jackson..",
              "org.postgresql..",
              "io.pgsteward.enforcement..",
              "io.pgsteward.model..",
              "io.pgsteward.server.config..");

  @ArchTest
  static final ArchRule packages_have_no_cycle =
      slices().matching("io.pgsteward.server.(*)..").should().beFreeOfCycles();
}
