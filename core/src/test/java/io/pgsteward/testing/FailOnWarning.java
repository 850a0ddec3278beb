package io.pgsteward.testing;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.slf4j.LoggerFactory;

/**
 * Fails a test during which a warning or an error was logged. Use:
 *
 * <pre>{@code
 * @RegisterExtension
 * final FailOnWarning warnings = new FailOnWarning().allow("coordinator cannot be reached");
 * }</pre>
 */
public final class FailOnWarning implements BeforeEachCallback, AfterEachCallback {

  private final List<String> allowed = new ArrayList<>();
  private final Queue<ILoggingEvent> seen = new ConcurrentLinkedQueue<>();
  private final Appender appender = new Appender();

  /** Lets messages pass that contain this text. */
  public FailOnWarning allow(String text) {
    allowed.add(text);
    return this;
  }

  /** The texts of all warnings and errors of this test so far, the allowed ones among them. */
  public List<String> seen() {
    return seen.stream().map(ILoggingEvent::getFormattedMessage).toList();
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    seen.clear();
    appender.start();
    root().addAppender(appender);
  }

  @Override
  public void afterEach(ExtensionContext context) {
    root().detachAppender(appender);
    appender.stop();
    List<String> unexpected =
        seen.stream()
            .map(event -> event.getLoggerName() + ": " + event.getFormattedMessage())
            .filter(text -> allowed.stream().noneMatch(text::contains))
            .toList();
    if (!unexpected.isEmpty()) {
      throw new AssertionError("logged as warning or error: " + unexpected);
    }
  }

  private static Logger root() {
    return (Logger) LoggerFactory.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
  }

  private final class Appender extends AppenderBase<ILoggingEvent> {
    @Override
    protected void append(ILoggingEvent event) {
      if (event.getLevel().isGreaterOrEqual(Level.WARN)) {
        seen.add(event);
      }
    }
  }
}
