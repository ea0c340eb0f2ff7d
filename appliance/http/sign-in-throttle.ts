/**
 * Holds guessing of passwords back without locking the owner out.
 *
 * Each network, and each address of an account, has so many attempts. Guesses from many networks fill the account's share, and
 * then its owner would wait as well. A browser in which the owner was signed in before therefore has a share of its own: it shows
 * a cookie that only we can make, which is good for this account alone and opens nothing.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../clock/clock.ts'
import { sourceNetwork } from '../wire/networks.ts'
import { createThrottle } from '../clock/throttle.ts'

/** How long a browser is remembered, in milliseconds. */
export const DEVICE_LIFETIME = 180 * 24 * 3_600_000

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Attempts of each network, account or known browser within a minute. */
const MOST_A_MINUTE = 10
/** And of strangers at one account within an hour: 1200 a day, against passwords that are in no list of the usual ones. */
const MOST_AN_HOUR = 50

/** An attempt to sign in. */
export interface Attempt {
  /** Of the client. */
  ip: string
  /** The address of the account, as typed. */
  email: string
  /** The value of the cookie `DEVICE`. */
  device: string | undefined
}

export interface SignInThrottle {
  /** Notes an attempt. Returns 0, or the seconds to wait. */
  attempt(attempt: Attempt): number
  /**
   * The value of the cookie `DEVICE` for a browser in which the owner of this account has signed in.
   * @param so the one that it has; it stays when it is of this account
   */
  deviceFor(email: string, so: string | undefined): string
}

const canonical = (email: string): string => email.trim().normalize('NFC').toLowerCase()

/** @param secret at least 32 random octets */
export function createSignInThrottle(clock: Clock, secret: Uint8Array): SignInThrottle {
  // Strangers cannot push known browsers out of what is remembered: they are counted apart.
  const networks = createThrottle(clock, MOST_A_MINUTE, MINUTE)
  const accounts = createThrottle(clock, MOST_A_MINUTE, MINUTE)
  const hourly = createThrottle(clock, MOST_AN_HOUR, HOUR)
  const devices = createThrottle(clock, MOST_A_MINUTE, MINUTE)
  const mac = (nonce: string, email: string): Buffer =>
    createHmac('sha256', secret)
      .update(`device\n${nonce}\n${canonical(email)}`)
      .digest()

  /** What names a browser that this account was used in; undefined for all others. */
  const known = (device: string | undefined, email: string): string | undefined => {
    const [nonce, signature, ...rest] = device?.split('.') ?? []
    if (nonce === undefined || signature === undefined || rest.length > 0) return undefined
    const given = Buffer.from(signature, 'base64url')
    const right = mac(nonce, email)
    return given.length === right.length && timingSafeEqual(given, right) ? nonce : undefined
  }

  return {
    attempt({ ip, email, device }) {
      // The network first: what is refused for it counts for no account, and makes us remember nothing more.
      const waits = networks.attempt([sourceNetwork(ip)])
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
