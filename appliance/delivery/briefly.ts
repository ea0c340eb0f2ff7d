/**
 * How long an answer is believed, in milliseconds: long enough for the messages of a burst to ask once, too short for anybody to see that
 * a key or a domain was changed later here than elsewhere.
 */
const BELIEVED_MS = 100
/** Answers remembered; then all are forgotten, so that memory is bounded. */
const MOST = 1000

/**
 * The same question of the storage, asked once for all who ask within a tenth of a second. Each message of a sending domain needs its row
 * and its keys: two trips to the reading thread. A question that failed is asked again.
 */
export function briefly<A extends object, R>(
  ask: (args: A, now: number) => Promise<R>,
): (args: A, now: number) => Promise<R> {
  const known = new Map<string, { answer: Promise<R>; at: number }>()
  return (args, now) => {
    const key = JSON.stringify(args)
    const last = known.get(key)
    if (last && now >= last.at && now - last.at < BELIEVED_MS) return last.answer
    if (known.size >= MOST) known.clear()
    const answer = ask(args, now)
    known.set(key, { answer, at: now })
    // Whoever asked hears of it.
    answer.catch(() => known.delete(key))
    return answer
  }
}
