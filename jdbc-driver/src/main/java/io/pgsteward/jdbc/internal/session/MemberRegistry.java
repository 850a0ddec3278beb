package io.pgsteward.jdbc.internal.session;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * The members of this process, one for each coordinator, instance and token, counted by the
 * DataSources that use them. Lock rule: every method locks this; a member is closed outside of the
 * lock. Thread-safe.
 */
final class MemberRegistry {

  /** The one of this process. */
  static final MemberRegistry PROCESS = new MemberRegistry(Member::create);

  private final Map<MemberSettings.Key, Entry> members = new HashMap<>();
  private final Function<MemberSettings, Member> start;

  private static final class Entry {
    final Member member;
    int users;

    Entry(Member member) {
      this.member = member;
    }
  }

  MemberRegistry(Function<MemberSettings, Member> start) {
    this.start = start;
  }

  synchronized Member join(MemberSettings settings) {
    Entry entry = members.get(settings.key());
    if (entry == null) {
      entry = new Entry(start.apply(settings));
      members.put(settings.key(), entry);
    }
    entry.users++;
    return entry.member;
  }

  /** One user less; the last one closes the member, which blocks for a bounded time. */
  void release(Member member) {
    if (left(member)) {
      member.shutDown();
    }
  }

  private synchronized boolean left(Member member) {
    Entry entry = members.get(member.settings().key());
    if (entry == null || entry.member != member || --entry.users > 0) {
      return false;
    }
    members.remove(member.settings().key());
    return true;
  }

  synchronized int size() {
    return members.size();
  }
}
