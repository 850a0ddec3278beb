package io.pgsteward.jdbc.internal.session;

import io.pgsteward.jdbc.internal.session.CoordinatorException.Kind;
import io.pgsteward.model.MemberId;
import io.pgsteward.protocol.ErrorResponse;
import io.pgsteward.protocol.Json;
import io.pgsteward.protocol.MalformedMessageException;
import io.pgsteward.protocol.SyncRequest;
import io.pgsteward.protocol.SyncResponse;
import java.io.IOException;
import java.net.Proxy;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import okhttp3.Call;
import okhttp3.ConnectionPool;
import okhttp3.HttpUrl;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import okio.BufferedSource;
import org.jspecify.annotations.Nullable;

/**
 * The way to a coordinator over HTTP; the only class that knows the HTTP library.
 *
 * <p>Each call is one attempt at one address, never repeated silently: a lost answer is the
 * session's business. No redirects, caches, cookies or proxies; a proxy between is as unwanted here
 * as on the query path. Answers are read up to {@value #LARGEST_ANSWER} bytes.
 *
 * <p>A call that is given up is left to end by itself: the coordinator answers it when the newer
 * report arrives, nobody reads that answer, and its connection serves again. So a report with news
 * needs no connection (and no TLS handshake) of its own. Of those only the latest is left; an older
 * one is cut off.
 *
 * <p>Calls are made and executed by one thread; {@link #address}, {@link #close} and a call's
 * cancel may come from any. What blocks runs on daemon threads of the client's own, two or for a
 * moment three, which end when they were idle for {@value #KEEP_SECONDS} s.
 */
final class HttpCoordinatorClient implements CoordinatorClient {

  static final int LARGEST_ANSWER = 4 * 1024 * 1024;

  private static final MediaType JSON = MediaType.get("application/json");
  private static final int LONGEST_QUOTE = 200;

  /** Less than the 30 s after which a coordinator closes a connection without calls. */
  private static final int KEEP_SECONDS = 20;

  /** The parked call's connection, and the one of the call that was given up for it. */
  private static final int CONNECTIONS = 2;

  private final OkHttpClient http;

  /** {@code http} with the time-outs of the last call; belongs to the thread that makes calls. */
  private OkHttpClient timed;

  private final Addresses addresses;
  private final @Nullable String authorization;
  private final ThreadPoolExecutor threads;

  /** The calls that are on the wire. */
  private final Set<Call> running = ConcurrentHashMap.newKeySet();

  /** The latest call that was given up. */
  private final AtomicReference<@Nullable Call> leftToEnd = new AtomicReference<>();

  private volatile boolean closed;

  /** What came over the wire. */
  private record Answer(int code, byte[] body) {}

  /**
   * @param coordinators where coordinators may be, at least one, in the order of trying
   * @param token sent as a bearer token; null to send none
   */
  HttpCoordinatorClient(List<URI> coordinators, @Nullable String token) {
    this.addresses = new Addresses(coordinators.stream().map(HttpCoordinatorClient::url).toList());
    this.authorization = token == null ? null : "Bearer " + token;
    this.http =
        new OkHttpClient.Builder()
            .retryOnConnectionFailure(false)
            .followRedirects(false)
            .followSslRedirects(false)
            .proxy(Proxy.NO_PROXY)
            .protocols(List.of(Protocol.HTTP_1_1))
            .connectionPool(new ConnectionPool(CONNECTIONS, KEEP_SECONDS, TimeUnit.SECONDS))
            .build();
    this.timed = http;
    this.threads =
        new ThreadPoolExecutor(
            0,
            Integer.MAX_VALUE,
            KEEP_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            HttpCoordinatorClient::thread);
  }

  private static Thread thread(Runnable body) {
    Thread thread = new Thread(body, "pgsteward-coordinator-call");
    thread.setDaemon(true);
    return thread;
  }

  private static HttpUrl url(URI coordinator) {
    HttpUrl url = HttpUrl.get(coordinator);
    if (url == null) {
      throw new IllegalArgumentException("not an HTTP address: " + coordinator);
    }
    return url;
  }

  @Override
  public CoordinatorCall call(
      MemberId member, SyncRequest request, Duration readTimeout, Duration connectTimeout) {
    HttpUrl address = addresses.current();
    Request.Builder post =
        new Request.Builder()
            .url(
                address
                    .newBuilder()
                    .addPathSegments("v1/members")
                    .addPathSegment(member.value())
                    .addPathSegment("sync")
                    .build())
            .post(RequestBody.create(Json.write(request), JSON));
    if (authorization != null) {
      post.header("Authorization", authorization);
    }
    return new HttpCall(within(readTimeout, connectTimeout).newCall(post.build()), address);
  }

  /** The client with these time-outs, which are the same from call to call but for few. */
  private OkHttpClient within(Duration read, Duration connect) {
    Duration whole = read.plus(connect);
    if (timed.readTimeoutMillis() != read.toMillis()
        || timed.callTimeoutMillis() != whole.toMillis()) {
      timed =
          http.newBuilder().connectTimeout(connect).readTimeout(read).callTimeout(whole).build();
    }
    return timed;
  }

  @Override
  public boolean askAnother() {
    return addresses.answerWasUseless();
  }

  @Override
  public String address() {
    return addresses.text();
  }

  @Override
  public void close() {
    closed = true;
    running.forEach(Call::cancel);
    http.connectionPool().evictAll();
    threads.shutdown();
  }

  /** Calls that were sent and have not ended, with the one that was given up. */
  int callsOnTheWire() {
    return running.size();
  }

  @Override
  public String toString() {
    return "coordinator " + address();
  }

  /** One attempt at one address. */
  private final class HttpCall implements CoordinatorCall {
    private final Call call;
    private final HttpUrl address;
    private final CompletableFuture<Answer> outcome = new CompletableFuture<>();

    HttpCall(Call call, HttpUrl address) {
      this.call = call;
      this.address = address;
    }

    @Override
    public SyncResponse execute() throws CoordinatorException {
      try {
        Answer answer = outcome.isDone() ? outcome.join() : sent().join();
        if (answer.code() == 200) {
          SyncResponse response = Json.read(answer.body(), SyncResponse.class);
          addresses.answered();
          return response;
        }
        throw refusal(answer);
      } catch (MalformedMessageException e) {
        throw failure(Kind.UNUSABLE, "sent no answer of a coordinator: " + brief(e), null, e);
      } catch (CancellationException e) {
        throw new CoordinatorException(Kind.CANCELLED, "call ended by this member", false, e);
      } catch (CompletionException e) {
        if (e.getCause() instanceof IOException cause) {
          throw failed(cause);
        }
        throw e;
      }
    }

    private CompletableFuture<Answer> sent() {
      try {
        threads.execute(this::exchange);
      } catch (RejectedExecutionException e) {
        outcome.cancel(false); // the client is closed
      }
      return outcome;
    }

    /** On a thread that may block for as long as the call is parked. */
    private void exchange() {
      running.add(call);
      if (closed || outcome.isDone()) {
        call.cancel(); // whoever closed or gave up before it ran did not find it
      }
      try (Response response = call.execute()) {
        outcome.complete(new Answer(response.code(), body(response)));
      } catch (IOException | RuntimeException | Error e) {
        if (closed) {
          outcome.cancel(false);
        } else {
          outcome.completeExceptionally(e);
        }
      } finally {
        running.remove(call);
      }
    }

    @Override
    public void cancel() {
      if (outcome.cancel(false)) {
        Call older = leftToEnd.getAndSet(call);
        if (older != null) {
          older.cancel();
        }
      }
    }

    private byte[] body(Response response) throws IOException {
      BufferedSource source = response.body().source();
      if (response.body().contentLength() > LARGEST_ANSWER || source.request(LARGEST_ANSWER + 1L)) {
        call.cancel(); // the rest is not wanted, and reading it to its end would cost
        throw new TooLargeException();
      }
      return source.readByteArray();
    }

    private CoordinatorException failed(IOException e) {
      if (e instanceof TooLargeException) {
        return failure(
            Kind.UNUSABLE,
            "sent more than " + LARGEST_ANSWER + " bytes, which is no answer",
            null,
            null);
      }
      http.connectionPool().evictAll(); // the other connection leads to the same end
      return failure(Kind.UNREACHABLE, "does not answer: " + brief(e), null, e);
    }

    private CoordinatorException refusal(Answer answer) {
      int code = answer.code();
      ErrorResponse error = error(answer.body());
      String said =
          "answered "
              + code
              + (error == null || error.message().isEmpty() ? "" : ": " + quote(error.message()));
      HttpUrl leader = error == null || error.leader() == null ? null : leader(error.leader());
      return switch (code) {
        case 401, 403 ->
            failure(
                Kind.UNAUTHORIZED,
                said
                    + (code == 401 || error == null
                        ? "; set coordinatorToken to a token that it knows"
                        : ""),
                null,
                null);
        case 400, 404, 410, 413, 422 -> failure(Kind.REJECTED, said, null, null);
        case 503 -> failure(Kind.NOT_LEADING, said, leader, null);
        default -> failure(Kind.UNUSABLE, said, null, null);
      };
    }

    private @Nullable HttpUrl leader(String text) {
      HttpUrl url = HttpUrl.parse(text.contains("://") ? text : address.scheme() + "://" + text);
      boolean downgrade = url != null && address.isHttps() && !url.isHttps();
      return url == null || downgrade
          ? null
          : url.newBuilder().encodedPath("/").query(null).build();
    }

    private CoordinatorException failure(
        Kind kind, String what, @Nullable HttpUrl leader, @Nullable Throwable cause) {
      boolean next = addresses.failed(leader);
      return new CoordinatorException(
          kind, "coordinator " + Addresses.text(address) + " " + what, next, cause);
    }
  }

  private static final class TooLargeException extends IOException {
    private static final long serialVersionUID = 1;
  }

  private static @Nullable ErrorResponse error(byte[] body) {
    try {
      return Json.read(body, ErrorResponse.class);
    } catch (MalformedMessageException e) {
      return null; // not from a coordinator; the status says enough
    }
  }

  private static String brief(Exception e) {
    String message = e.getMessage();
    return message == null ? e.getClass().getSimpleName() : quote(message);
  }

  private static String quote(String text) {
    String line = text.replaceAll("\\p{Cntrl}+", " ").strip();
    return line.length() <= LONGEST_QUOTE ? line : line.substring(0, LONGEST_QUOTE) + "...";
  }

  /**
   * Which address is asked. Stays with one that works; after a failure goes to the leader that was
   * named, or to the next in the list, and tells when all have been tried. Lock rule: every method
   * locks this.
   */
  private static final class Addresses {
    private final List<HttpUrl> configured;
    private int index;
    private @Nullable HttpUrl named;
    private int triedInARow;
    private int triedBeforeAnswer;

    Addresses(List<HttpUrl> configured) {
      if (configured.isEmpty()) {
        throw new IllegalArgumentException("a coordinator needs an address");
      }
      this.configured = configured;
    }

    synchronized HttpUrl current() {
      return named != null ? named : configured.get(index);
    }

    synchronized void answered() {
      triedBeforeAnswer = triedInARow;
      triedInARow = 0;
    }

    /** The answer that was just counted as one of use was none. */
    synchronized boolean answerWasUseless() {
      triedInARow = triedBeforeAnswer;
      return failed(null);
    }

    /**
     * The current address is of no use.
     *
     * @param leader where it said that the leader is, or null
     * @return whether the next one has not been tried since the last answer of use
     */
    synchronized boolean failed(@Nullable HttpUrl leader) {
      triedInARow++;
      boolean wasNamed = named != null;
      named = null;
      if (leader != null && !wasNamed) {
        int known = indexOf(leader);
        if (known < 0) {
          named = leader;
        } else {
          index = known;
        }
      } else if (!wasNamed || configured.size() > 1) {
        index = (index + 1) % configured.size();
      }
      boolean all = triedInARow >= configured.size() + (named == null ? 0 : 1);
      if (all) {
        triedInARow = 0;
      }
      return !all;
    }

    private int indexOf(HttpUrl leader) {
      for (int i = 0; i < configured.size(); i++) {
        HttpUrl url = configured.get(i);
        if (url.host().equals(leader.host()) && url.port() == leader.port()) {
          return i;
        }
      }
      return -1;
    }

    synchronized String text() {
      return text(current());
    }

    static String text(HttpUrl url) {
      String text = url.toString();
      return text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
    }
  }
}
