package io.pgsteward.server.config;

import io.pgsteward.enforcement.EnforceMode;
import io.pgsteward.model.InstanceId;
import io.pgsteward.model.PolicyBook;
import java.util.Properties;
import org.postgresql.Driver;

/** Reads one entry under {@code instances}. */
final class InstanceReader {

  private static final int DEFAULT_MARGIN = 3;
  private static final String URL = "io.pgsteward.url";

  private final SecretReader secrets;

  InstanceReader(SecretReader secrets) {
    this.secrets = secrets;
  }

  /** The instance; only to be used if no problem was reported. */
  InstanceConfig read(Section.Named named) {
    Section section = named.group();
    if (named.name().isBlank()) {
      section.problem("", "an instance needs a name");
    }
    Properties parsed = url(section);
    String user = user(section, parsed);
    Secret password = secrets.read(section, "password");
    int margin = section.number("margin", DEFAULT_MARGIN, 0, 262_143);
    EnforceMode enforcement = enforcement(section);
    PolicyBook policies = PolicyReader.policies(section, user);
    String agreed = Agreement.hash(section, margin, enforcement);
    section.finish();
    if (!section.has("tenants") && !section.has("default")) {
      section.problem(
          "tenants",
          "no tenant could ever be granted a slot: name tenants, or give a default policy, such as"
              + " default: {}");
    }
    return new InstanceConfig(
        new InstanceId(named.name().isBlank() ? "unnamed" : named.name()),
        parsed.getProperty(URL, ""),
        server(parsed),
        user,
        password,
        margin,
        enforcement,
        policies,
        agreed);
  }

  private static Properties url(Section section) {
    Properties none = new Properties();
    String url = section.text("url");
    if (url == null) {
      if (!section.has("url")) {
        section.problem(
            "url", "is missing: a URL such as jdbc:postgresql://127.0.0.1:5432/postgres");
      }
      return none;
    }
    if (JdbcUrl.hasUserInfo(url)) {
      section.problem(
          "url",
          "has something before an @, such as user:password@host, which logs would show: give the"
              + " role as user and its password as password, and write an @ in the database's"
              + " name as %40");
      return none;
    }
    Properties parsed = JdbcUrl.isWellFormed(url) ? Driver.parseURL(url, null) : null;
    if (parsed == null) {
      section.problem(
          "url", "must be a PostgreSQL JDBC URL such as jdbc:postgresql://127.0.0.1:5432/postgres");
      return none;
    }
    parsed.setProperty(URL, url);
    if (parsed.getProperty("password") != null) {
      section.problem("url", "holds a password, which logs would show: give it as password");
    }
    if (parsed.getProperty("PGHOST", "").isBlank()) {
      section.problem("url", "names no host");
    }
    if (parsed.getProperty("PGDBNAME", "").isBlank()) {
      section.problem(
          "url", "names no database for the leader's lock; usually it ends with /postgres");
    }
    String target = parsed.getProperty("targetServerType", "primary");
    if (!target.equals("primary") && !target.equals("master")) {
      section.problem("url", "must lead to the primary, but targetServerType is " + target);
    }
    return parsed;
  }

  private static String user(Section section, Properties parsed) {
    String user = section.text("user");
    String inUrl = parsed.getProperty("user");
    if (user != null && inUrl != null && !user.equals(inUrl)) {
      section.problem("user", "is " + user + ", but the url says " + inUrl);
    }
    if (user == null && inUrl == null && !section.has("user")) {
      section.problem("user", "is missing: the role with which the coordinator logs in");
    }
    return user != null ? user : inUrl != null ? inUrl : "";
  }

  private static EnforceMode enforcement(Section section) {
    String text = section.text("enforce");
    if (text == null) {
      return EnforceMode.AUTO;
    }
    switch (text) {
      case "auto":
        return EnforceMode.AUTO;
      case "off":
        return EnforceMode.OFF;
      case "required":
        return EnforceMode.REQUIRED;
      default:
        section.problem("enforce", "must be required, auto or off, but it is \"" + text + "\"");
        return EnforceMode.AUTO;
    }
  }

  private static String server(Properties parsed) {
    return parsed.getProperty("PGHOST", "")
        + ":"
        + parsed.getProperty("PGPORT", "")
        + "/"
        + parsed.getProperty("PGDBNAME", "");
  }
}
