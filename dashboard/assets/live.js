// Asks again and again for what a page shows: one question at a time, and none while nobody sees the page. All who look
// at the same ask within the same part of a second, so that they share an answer of the store.
import { now } from './api.js';

export const turn_pause = 1000; // of pages that ask one question a round
const pause_between = 2000;
const longest_pause = 10000;
const max_apart = 200;

// ask(signal) answers in its time or throws; told(answer) and failed(error) draw. `pause` between two rounds, in
// milliseconds; null: once, and again where the answer was that waiting may help. Nothing is asked after stop().
export class Live {
  constructor(ask, told, failed, pause = pause_between) {
    Object.assign(this, {
      ask,
      told,
      failed,
      pause,
      failures: 0,
      timer: 0,
      stopper: null,
      is_over: false,
      is_held: false,
      has_asked: false,
    });
    this.seen = () =>
      !document.hidden &&
      !this.is_held &&
      (!this.has_asked || this.failures > 0 || this.pause !== null) &&
      this.again();
    document.addEventListener('visibilitychange', this.seen);
    this.seen();
  }

  // At once, in place of what is under way.
  again() {
    if (this.is_over) return;
    clearTimeout(this.timer);
    this.stopper?.abort();
    this.round();
  }

  // Answers whether it was held before.
  hold(is_held) {
    const was_held = this.is_held;
    this.is_held = is_held;
    if (!is_held) this.again();
    return was_held;
  }

  stop() {
    this.is_over = true;
    clearTimeout(this.timer);
    this.stopper?.abort();
    document.removeEventListener('visibilitychange', this.seen);
  }

  async round() {
    this.has_asked = true;
    const stopper = (this.stopper = new AbortController());
    let goes_on = this.pause !== null;
    let answer, fault;
    try {
      answer = await this.ask(stopper.signal);
    } catch (error) {
      fault = error;
    }
    if (stopper.signal.aborted) return;
    if (fault) {
      this.failures++;
      goes_on = fault.is_away === true;
      this.failed(fault);
    } else {
      this.failures = 0;
      this.told(answer);
    }
    if (!goes_on || this.is_over || document.hidden) return;
    const pause = Math.min((this.pause ?? pause_between) * Math.max(1, this.failures), longest_pause);
    const until_next = pause - (now() % pause) + Math.random() * max_apart;
    this.timer = setTimeout(() => (this.is_held ? null : this.round()), until_next);
  }
}
