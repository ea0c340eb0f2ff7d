/** Suggestions for the From field. Pure. */
import { extractBareAddress } from './addresses.ts'

/** Maximum number of suggested senders. */
const MOST = 50

/** What suggestions are made from. */
interface KnownSenders {
  /** Names of the verified domains. */
  domains: readonly string[]
  /** From fields that were used, newest first. */
  used: readonly string[]
  /** The name of the team. */
  team: string
}

const domainOf = (from: string): string => extractBareAddress(from).split('@').at(-1)!.toLowerCase()

/** Returns a display name without characters that would need quotes. */
const displayName = (team: string): string => team.replaceAll(/["<>\\@,;]/g, '').trim()

/**
 * Lists senders to choose from: those that were used, newest first and without those whose domain isn't verified, then
 * one for each verified domain that wasn't used.
 */
export function sendersOf({ domains, used, team }: KnownSenders): string[] {
  const verified = new Set(domains.map((name) => name.toLowerCase()))
  const usable = [...new Set(used.map((from) => from.trim()))].filter((from) => verified.has(domainOf(from)))
  const covered = new Set(usable.map(domainOf))
  const display = displayName(team)
  const others = [...verified]
    .filter((name) => !covered.has(name))
    .sort()
    .map((name) => (display === '' ? `news@${name}` : `${display} <news@${name}>`))
  return [...usable, ...others].slice(0, MOST)
}

/**
 * Returns the senders that contain a text, ignoring case. All of them if the text is empty or one of them, so that
 * another one can be chosen.
 */
export function sendersFor(senders: readonly string[], text: string): readonly string[] {
  const sought = text.trim().toLowerCase()
  if (senders.some((one) => one.toLowerCase() === sought)) return senders
  return senders.filter((one) => one.toLowerCase().includes(sought))
}
