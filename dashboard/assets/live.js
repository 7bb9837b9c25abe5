// Asks again and again for what a page shows: one question at a time, and none while nobody sees the page. All who look
// at the same ask within the same part of a second, so that they share an answer of the store.
import { now } from './api.js';

const pause_between = 2000;
const longest_pause = 10000;
const most_apart = 200;

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
    this.seen = () => !document.hidden && !this.is_held && (!this.has_asked || this.pause !== null) && this.again();
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

  hold(is_held) {
    this.is_held = is_held;
    if (!is_held) this.again();
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
    try {
      const answer = await this.ask(stopper.signal);
      if (stopper.signal.aborted) return;
      this.failures = 0;
      this.told(answer);
    } catch (error) {
      if (stopper.signal.aborted) return;
      this.failures++;
      goes_on = error.is_away === true;
      this.failed(error);
    }
    if (!goes_on || this.is_over || document.hidden) return;
    const pause = Math.min((this.pause ?? pause_between) * Math.max(1, this.failures), longest_pause);
    const until_next = pause - (now() % pause) + Math.random() * most_apart;
    this.timer = setTimeout(() => (this.is_held ? null : this.round()), until_next);
  }
}
