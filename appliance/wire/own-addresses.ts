/** The addresses of this machine's network interfaces. */
import { networkInterfaces } from 'node:os'
import type { Clock } from '../clock/clock.ts'
import { canonicalIp } from './networks.ts'

/** How long a list of addresses is used before the kernel is asked again, in milliseconds. */
const FRESH_MS = 10_000

/** Lists the machine's own addresses, without loopback, as `canonicalIp` writes them. */
export function machineAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) =>
    (addresses ?? [])
      .filter(({ internal }) => !internal)
      .map(({ address }) => canonicalIp(address) ?? address),
  )
}

/** Makes a function that lists the same addresses as `list`, which it asks at most once in ten seconds. */
export function refreshedAddresses(
  clock: Pick<Clock, 'now'>,
  list: () => readonly string[] = machineAddresses,
): () => readonly string[] {
  let last: { at: number; addresses: readonly string[] } | undefined
  return () => {
    const now = clock.now()
    if (!last || now < last.at || now - last.at >= FRESH_MS) last = { at: now, addresses: list() }
    return last.addresses
  }
}
