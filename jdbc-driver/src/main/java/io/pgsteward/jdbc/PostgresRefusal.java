package io.pgsteward.jdbc;

import java.sql.SQLException;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * Which limit of PostgreSQL an opening ran into. All of them have SQLState 53300 and differ in
 * their text, which the server may translate; the name of the C function that refused is never
 * translated, so it is looked at first.
 */
final class PostgresRefusal {

  private PostgresRefusal() {}

  /** The limit that refused, or null if the failure is not about a limit. */
  static @Nullable FullLimit limitOf(@Nullable Throwable failure) {
    for (Throwable t = failure; t != null; t = t.getCause()) {
      if (t instanceof SQLException e && NoSlotException.SQL_STATE.equals(e.getSQLState())) {
        FullLimit byRoutine = byRoutine(e);
        return byRoutine != null ? byRoutine : byText(String.valueOf(e.getMessage()));
      }
    }
    return null;
  }

  private static @Nullable FullLimit byRoutine(SQLException e) {
    ServerErrorMessage details = e instanceof PSQLException p ? p.getServerErrorMessage() : null;
    String routine = details == null ? null : details.getRoutine();
    if (routine == null) {
      return null;
    }
    return switch (routine) {
      case "InitializeSessionUserId" -> FullLimit.ROLE_LIMIT;
      case "CheckMyDatabase" -> FullLimit.DATABASE_LIMIT;
      default -> null;
    };
  }

  private static FullLimit byText(String text) {
    if (text.contains("connections for role")) {
      return FullLimit.ROLE_LIMIT;
    }
    return text.contains("connections for database") ? FullLimit.DATABASE_LIMIT : FullLimit.SERVER;
  }
}
