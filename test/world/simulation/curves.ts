import type { Answer, Connection, Records } from './record.ts'

/** What receivers counted over time. Pure. */

/** Counts instants per time span. The first span starts at `begin`. */
export function countBy(times: readonly number[], begin: number, span: number, spans: number): number[] {
  const counts = new Array<number>(spans).fill(0)
  for (const time of times) {
    const at = Math.floor((time - begin) / span)
    if (at >= 0 && at < spans) counts[at]!++
  }
  return counts
}

/** Returns when a personality accepted messages, by source address, including messages accepted without a reply. */
export function takenBySource({ answers, connections }: Records, personality: string): Map<string, number[]> {
  const taken = answers.filter(
    (one) => one.personality === personality && (one.verdict === 'said' || one.verdict === 'unsaid'),
  )
  const groups = Map.groupBy(taken, ({ connection }) => sourceOf(connections, connection))
  return new Map([...groups].map(([ip, own]) => [ip, own.map(({ at }) => at)]))
}

/** Returns when a source started transactions with a personality. */
export function transactionsOf({ connections }: Records, personality: string, ip: string): number[] {
  return connections
    .filter((one) => one.personality === personality && one.ip === ip)
    .flatMap(({ transactions }) => transactions)
}

/** Returns when a personality deferred a source, in order. */
export function putOffs({ answers, connections }: Records, personality: string, ip: string): number[] {
  const isPutOff = ({ verdict, recipient }: Answer): boolean => verdict === 'deferred' && recipient === ''
  return answers
    .filter((one) => one.personality === personality && isPutOff(one))
    .filter((one) => sourceOf(connections, one.connection) === ip)
    .map(({ at }) => at)
}

/** Connections are numbered from 0 in order of arrival. */
const sourceOf = (connections: readonly Connection[], id: number): string => connections[id]!.ip
