/** Violations, one sentence each. */
export type Complaints = string[]

const MOST = 5

/** Keeps the first few violations of each kind and counts the rest. */
export class Few {
  readonly #kinds = new Map<string, string[]>()

  add(kind: string, text: string): void {
    const texts = this.#kinds.get(kind)
    if (texts) texts.push(text)
    else this.#kinds.set(kind, [text])
  }

  get all(): Complaints {
    return [...this.#kinds.values()].flatMap((texts) =>
      texts.length > MOST ? [...texts.slice(0, MOST), `… and ${texts.length - MOST} more like this`] : texts,
    )
  }
}
