/** The public MX: what comes to port 25 without sign-in, and what the sandbox's recipients send back. */
import { bringTo, createInboundDoor } from '../inbound/door.ts'
import { createInbound, type InboundDeps } from '../inbound/inbound.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Door } from '../smtp/smtp.ts'

/** What ends with the daemon. */
interface Started {
  defer(end: () => Promise<void>): void
}

interface PublicMxDeps extends InboundDeps {
  started: Started
  /** Null outside the sandbox. */
  sandbox: Sandbox | null
}

/**
 * Opens the door for mail that nobody signed in for. It reads and forwards what waits from then on, until the daemon ends. In the sandbox it
 * also takes the reports and replies of simulated recipients.
 */
export function openPublicMx({ started, sandbox, ...deps }: PublicMxDeps): Door {
  const inbound = createInbound(deps)
  started.defer(() => inbound.close())
  const door = createInboundDoor(inbound)
  sandbox?.connect((mail) => bringTo(door, mail))
  return door
}
