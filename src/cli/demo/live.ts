/** A demo on a terminal: draws the scene in place, at most ten times a second, and turns keys into actions. */
import { ALTERNATE_SCREEN, MAIN_SCREEN, redrawn } from '../screen.ts';
import { paletteFor } from '../terminal.ts';
import type { Actions } from './actions.ts';
import { sceneLines, type Scene } from './demo-screen.ts';

const FRAME_MS = 100;

export class Live {
  readonly #palette = paletteFor(process.stdout);
  readonly #end: () => void;
  #timer: NodeJS.Timeout | null = null;
  #shown = '';

  constructor(end: () => void) {
    this.#end = end;
  }

  begin(scene: () => Scene, actions: Actions): void {
    const { stdin, stdout } = process;
    process.on('exit', this.#restore);
    stdout.write(ALTERNATE_SCREEN);
    stdin.setRawMode(true);
    stdin.resume();
    stdin.on('data', (keys: Buffer) => {
      for (const key of keysIn(keys.toString())) this.#press(key, actions);
      this.#draw(scene());
    });
    // The terminal is gone.
    stdin.on('end', this.#end);
    stdin.on('error', this.#end);
    stdout.on('resize', () => {
      this.#shown = '';
    });
    this.#timer = setInterval(() => this.#draw(scene()), FRAME_MS);
    this.#draw(scene());
  }

  end(): void {
    if (this.#timer === null) return;
    clearInterval(this.#timer);
    this.#timer = null;
    process.off('exit', this.#restore);
    this.#restore();
    process.stdin.pause();
    process.stdin.removeAllListeners('data');
  }

  #draw(scene: Scene): void {
    if (this.#timer === null) return;
    const { columns, rows } = process.stdout;
    // A terminal that does not know its size says 0.
    const picture = redrawn(sceneLines(scene, columns || 80, rows || 24, this.#palette));
    if (picture === this.#shown) return;
    this.#shown = picture;
    process.stdout.write(picture);
  }

  #press(key: string, actions: Actions): void {
    if (key === 'q' || key === '\x03') this.#end();
    else if (key === '1') actions.toggleMember('a');
    else if (key === '2') actions.toggleMember('b');
    else if (key === '3') actions.toggleMember('c');
    else if (key === 'k') actions.killHolder();
    else if (key === 'p') actions.pauseOrResume();
    else if (key === '\x1b[A' || key === '\x1bOA') actions.choose(-1);
    else if (key === '\x1b[B' || key === '\x1bOB' || key === '\t') actions.choose(1);
  }

  readonly #restore = (): void => {
    try {
      process.stdin.setRawMode(false);
      process.stdout.write(MAIN_SCREEN);
    } catch {
      // The terminal is gone.
    }
  };
}

/** A chunk may hold several: an arrow is three bytes. */
function keysIn(text: string): string[] {
  // oxlint-disable-next-line no-control-regex -- keys are control characters
  return text.match(/\x1b[[O][A-D]|[\s\S]/g) ?? [];
}
