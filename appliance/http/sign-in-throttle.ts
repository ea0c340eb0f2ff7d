/**
 * Limits password guessing without locking out the owner.
 *
 * Attempts are limited per network and per account address. Guesses from many networks use up the account's limit, and
 * its owner would have to wait, too. Therefore, a browser in which the owner has signed in before has its own limit: it
 * presents a cookie that only this server can create, that is valid for this account only, and that grants no access.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../clock/clock.ts'
import { getSourceNetwork } from '../wire/networks.ts'
import { createThrottle } from '../clock/throttle.ts'

/** How long a browser is remembered, in milliseconds. */
export const DEVICE_LIFETIME = 180 * 24 * 3_600_000

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Maximum number of attempts per minute from one network, on one account, or from one known browser. */
const MOST_A_MINUTE = 10
/**
 * Maximum number of attempts per hour by strangers on one account: 1200 a day, against passwords that are on no list of
 * common passwords.
 */
const MOST_AN_HOUR = 50

/** A sign-in attempt. */
export interface SignInAttempt {
  /** The client's. */
  ip: string
  /** The account's address, as typed. */
  email: string
  /** The value of the cookie `DEVICE_COOKIE`. */
  device: string | undefined
}

export interface SignInThrottle {
  /** Counts an attempt. Returns 0 if it is allowed, or the seconds to wait. */
  attempt(attempt: SignInAttempt): number
  /**
   * Returns the value of the cookie `DEVICE_COOKIE` for a browser in which the owner of this account has signed in.
   * @param so the cookie's current value, which is kept if it is for this account
   */
  deviceFor(email: string, so: string | undefined): string
}

const canonical = (email: string): string => email.trim().normalize('NFC').toLowerCase()

/**
 * Creates the throttle.
 * @param secret at least 32 random octets
 * @param share divides a limit among the nodes, because each node counts separately
 */
export function createSignInThrottle(
  clock: Clock,
  secret: Uint8Array,
  share: (limit: number) => number = (limit) => limit,
): SignInThrottle {
  const [perMinute, perHour] = [() => share(MOST_A_MINUTE), () => share(MOST_AN_HOUR)]
  // Counted separately, so that strangers can't displace known browsers from memory.
  const networks = createThrottle(clock, perMinute, MINUTE)
  const accounts = createThrottle(clock, perMinute, MINUTE)
  const hourly = createThrottle(clock, perHour, HOUR)
  const devices = createThrottle(clock, perMinute, MINUTE)
  const mac = (nonce: string, email: string): Buffer =>
    createHmac('sha256', secret)
      .update(`device\n${nonce}\n${canonical(email)}`)
      .digest()

  /** Identifies a browser that this account was used in; undefined for other browsers. */
  const known = (device: string | undefined, email: string): string | undefined => {
    const [nonce, signature, ...rest] = device?.split('.') ?? []
    if (nonce === undefined || signature === undefined || rest.length > 0) return undefined
    const given = Buffer.from(signature, 'base64url')
    const right = mac(nonce, email)
    return given.length === right.length && timingSafeEqual(given, right) ? nonce : undefined
  }

  return {
    attempt({ ip, email, device }) {
      // Check the network first: attempts that it refuses don't count against an account, and use no memory.
      const waits = networks.attempt([getSourceNetwork(ip)])
      if (waits > 0) return waits
      const nonce = known(device, email)
      if (nonce !== undefined) return devices.attempt([nonce])
      const account = canonical(email)
      return accounts.attempt([account]) || hourly.attempt([account])
    },
    deviceFor(email, so) {
      if (so !== undefined && known(so, email) !== undefined) return so
      const nonce = randomBytes(16).toString('base64url')
      return `${nonce}.${mac(nonce, email).toString('base64url')}`
    },
  }
}
