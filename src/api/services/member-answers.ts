/** What the members of a cell answer to a question that all of them are asked. The last answer of each member is kept until the members are asked anew. */
import type { Clocks } from '../../runtime/index.ts';

/** A question waits so long for members that do not answer. */
const ANSWERS_US = 500_000;

interface AnswersGround {
  readonly memberIds: readonly string[];
  readonly clocks: Clocks;
  /** Asks every member once. */
  readonly ask: () => void;
}

export class MemberAnswers<Answer> {
  /** By member. */
  readonly heard: Map<number, Answer> = new Map();
  readonly #ground: AnswersGround;
  readonly #questions = new Set<{ readonly missing: Set<number>; readonly end: () => void }>();

  constructor(ground: AnswersGround) {
    this.#ground = ground;
  }

  /** A caller waits for answers. */
  get isAsked(): boolean {
    return this.#questions.size > 0;
  }

  hear(member: number, answer: Answer): void {
    this.heard.set(member, answer);
    for (const question of this.#questions) {
      question.missing.delete(member);
      if (question.missing.size === 0) question.end();
    }
  }

  /** Asks every member once, and waits for no answer. */
  askAll(): void {
    this.heard.clear();
    this.#ground.ask();
  }

  /** Asks, and waits for these members; by member, null for a member that does not answer. */
  async of(members: readonly number[]): Promise<(Answer | null)[]> {
    this.heard.clear();
    if (members.length > 0) await this.#answersOf(members);
    return this.#ground.memberIds.map((_, member) => this.heard.get(member) ?? null);
  }

  /** Ends all waits. */
  end(): void {
    for (const question of this.#questions) question.end();
  }

  #answersOf(members: readonly number[]): Promise<void> {
    const { clocks, ask } = this.#ground;
    return new Promise((resolve) => {
      const end = (): void => {
        stopWaiting();
        this.#questions.delete(question);
        resolve();
      };
      const question = { missing: new Set(members), end };
      const stopWaiting = clocks.after(ANSWERS_US, end);
      this.#questions.add(question);
      ask();
    });
  }
}
