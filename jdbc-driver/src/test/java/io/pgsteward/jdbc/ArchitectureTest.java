package io.pgsteward.jdbc;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleName;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

/** Who knows whom in the driver (design section 11), and what is public. */
class ArchitectureTest {

  private static final String POOL = "io.pgsteward.jdbc.internal.pool..";
  private static final String SESSION = "io.pgsteward.jdbc.internal.session..";
  private static final String METRICS = "io.pgsteward.jdbc.metrics..";

  /** The driver's own classes; core's test instruments are a jar among the tests. */
  private static final JavaClasses DRIVER =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .withImportOption(location -> !location.contains("test-classes"))
          .importPackages("io.pgsteward.jdbc");

  @Test
  void the_pool_knows_nobody_above_it() {
    noClasses()
        .that()
        .resideInAPackage(POOL)
        .should()
        .dependOnClassesThat(
            resideInAPackage("io.pgsteward..")
                .and(not(resideInAPackage(POOL)))
                .and(not(resideInAPackage("io.pgsteward.model.."))))
        .check(DRIVER);
  }

  @Test
  void the_session_knows_the_pool_and_nobody_above_it() {
    noClasses()
        .that()
        .resideInAPackage(SESSION)
        .should()
        .dependOnClassesThat(
            resideInAPackage("io.pgsteward.jdbc..")
                .and(not(resideInAPackage(SESSION)))
                .and(not(resideInAPackage(POOL))))
        .check(DRIVER);
  }

  @Test
  void packages_have_no_cycle() {
    slices().matching("io.pgsteward.jdbc.(**)").should().beFreeOfCycles().check(DRIVER);
    noClasses()
        .that()
        .resideInAPackage("io.pgsteward.jdbc")
        .should()
        .dependOnClassesThat()
        .resideInAPackage(METRICS)
        .check(DRIVER);
  }

  @Test
  void the_driver_never_sees_the_server() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("io.pgsteward.server..", "io.javalin..", "picocli..")
        .check(DRIVER);
  }

  @Test
  void each_library_is_touched_in_one_place() {
    noClasses()
        .that(not(resideInAPackage(SESSION).and(nestedIn("HttpCoordinatorClient"))))
        .should()
        .dependOnClassesThat()
        .resideInAnyPackage("okhttp3..", "okio..")
        .check(DRIVER);
    noClasses()
        .that()
        .resideOutsideOfPackage(METRICS)
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.micrometer..")
        .check(DRIVER);
    noClasses()
        .that()
        .resideOutsideOfPackage(POOL)
        .should()
        .dependOnClassesThat()
        .resideInAPackage("com.zaxxer..")
        .check(DRIVER);
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAPackage("com.fasterxml.jackson..")
        .check(DRIVER);
  }

  private static com.tngtech.archunit.base.DescribedPredicate<JavaClass> nestedIn(String name) {
    return com.tngtech.archunit.base.DescribedPredicate.describe(
        name + " or nested in it",
        type ->
            simpleName(name).test(type)
                || type.getEnclosingClass().map(nestedIn(name)::test).orElse(false));
  }

  @Test
  void nobody_prints() {
    noClasses()
        .should()
        .accessField(System.class, "out")
        .orShould()
        .accessField(System.class, "err")
        .check(DRIVER);
  }

  @Test
  void every_package_declares_what_may_be_null() {
    for (JavaClass type : DRIVER) {
      assertThat(type.getPackage().isAnnotatedWith(NullMarked.class))
          .as("%s is @NullMarked", type.getPackageName())
          .isTrue();
    }
  }

  @Test
  void utilities_have_names_that_say_what_they_do() {
    classes().should().haveSimpleNameNotEndingWith("Utils").check(DRIVER);
    classes().should().haveSimpleNameNotEndingWith("Impl").check(DRIVER);
  }

  @Test
  void public_is_what_an_application_needs_and_nothing_else() {
    Set<String> published = new TreeSet<>();
    for (JavaClass type : DRIVER) {
      if (type.isTopLevelClass()
          && type.getModifiers().contains(JavaModifier.PUBLIC)
          && !type.getPackageName().contains(".internal.")) {
        published.add(type.getSimpleName());
      }
    }
    assertThat(published)
        .containsExactlyInAnyOrder(
            "FullLimit",
            "NoSlotException",
            "PgStewardConfig",
            "PgStewardDataSource",
            "PgStewardDriver",
            "PgStewardListener",
            "PgStewardMetrics",
            "TenantSnapshot");
  }
}
