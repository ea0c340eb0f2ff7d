import type { Answer, Connection, Records } from './record.ts'

/** What receivers counted, over time. Pure. */

/** How much came in each span of time, the first one beginning at `begin`. */
export function countBy(times: readonly number[], begin: number, span: number, spans: number): number[] {
  const counts = new Array<number>(spans).fill(0)
  for (const time of times) {
    const at = Math.floor((time - begin) / span)
    if (at >= 0 && at < spans) counts[at]!++
  }
  return counts
}

/** When a personality took messages, by the address that they came from; also those it took without a word. */
export function takenBySource({ answers, connections }: Records, personality: string): Map<string, number[]> {
  const taken = answers.filter(
    (one) => one.personality === personality && (one.verdict === 'said' || one.verdict === 'unsaid'),
  )
  const groups = Map.groupBy(taken, ({ connection }) => sourceOf(connections, connection))
  return new Map([...groups].map(([ip, own]) => [ip, own.map(({ at }) => at)]))
}

/** When a source began transactions with a personality. */
export function transactionsOf({ connections }: Records, personality: string, ip: string): number[] {
  return connections
    .filter((one) => one.personality === personality && one.ip === ip)
    .flatMap(({ transactions }) => transactions)
}

/** When a personality put a source off, in order. */
export function putOffs({ answers, connections }: Records, personality: string, ip: string): number[] {
  const isPutOff = ({ verdict, recipient }: Answer): boolean => verdict === 'deferred' && recipient === ''
  return answers
    .filter((one) => one.personality === personality && isPutOff(one))
    .filter((one) => sourceOf(connections, one.connection) === ip)
    .map(({ at }) => at)
}

/** Connections are numbered from 0 as they came. */
const sourceOf = (connections: readonly Connection[], id: number): string => connections[id]!.ip
