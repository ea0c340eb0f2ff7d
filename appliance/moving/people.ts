/** Collects the contacts, properties and segments of an export, each once. Pure. */
import { RESERVED_KEYS } from '../mail/audience.ts'
import { addObject, type Export } from './files.ts'
import type { HostedObject } from './hosted.ts'

/** A contact of an export. */
export interface ExportedContact {
  email: string
  firstName?: string | undefined
  lastName?: string | undefined
  unsubscribed: boolean
  properties: Record<string, unknown>
  /** Names of segments. */
  segments: readonly string[]
}

const MAX_KEY = 50

/** Collects people. A later entry with the same address adds to the earlier one, and never removes an opt-out. */
export class ContactCollector {
  readonly #found: Export
  readonly #segments = new Map<string, string>()
  readonly #properties = new Map<string, string>()
  readonly #contacts = new Map<string, HostedObject>()
  readonly #members = new Set<string>()

  constructor(found: Export) {
    this.#found = found
  }

  /** Adds a segment. Returns its ID; null if it has no name. */
  segment(name: string): string | null {
    const called = name.trim()
    if (called === '') return null
    const known = this.#segments.get(called)
    if (known !== undefined) return known
    const id = String(addObject(this.#found, '/segments', { name: called }).id)
    this.#found.content.set(`/segments/${id}/contacts`, [])
    this.#segments.set(called, id)
    return id
  }

  add({ email, firstName, lastName, unsubscribed, properties, segments }: ExportedContact): void {
    const key = email.trim().toLowerCase()
    const given = { first_name: firstName, last_name: lastName }
    const known = this.#contacts.get(key)
    const contact =
      known ?? addObject(this.#found, '/contacts', { email, unsubscribed: false, properties: {} })
    this.#contacts.set(key, contact)
    for (const [name, value] of Object.entries(given)) if (value !== undefined) contact[name] = value
    if (unsubscribed) contact.unsubscribed = true
    Object.assign(contact.properties as object, this.#valuesOf(properties))
    for (const name of segments) this.#join(this.segment(name), String(contact.id))
  }

  #join(segment: string | null, contact: string): void {
    if (segment === null || this.#members.has(`${segment}/${contact}`)) return
    this.#members.add(`${segment}/${contact}`)
    const members = this.#found.content.get(`/segments/${segment}/contacts`) as HostedObject[]
    members.push({ id: contact })
  }

  /** Reads values, and adds properties for them. A property is a number if its first value is a number. */
  #valuesOf(given: Record<string, unknown>): Record<string, string | number> {
    const values: [string, string | number][] = []
    for (const [name, one] of Object.entries(given)) {
      const value = plainValue(one)
      const key = derivePropertyKey(name)
      if (value === null || key === null) continue
      const type = this.#properties.get(key) ?? typeof value
      if (!this.#properties.has(key)) {
        this.#properties.set(key, type)
        addObject(this.#found, '/contact-properties', { key, type })
      }
      values.push([key, value])
    }
    return Object.fromEntries(values)
  }
}

/** Converts a value to one that a property can store. Lists and objects become JSON. */
function plainValue(value: unknown): string | number | null {
  if (value === null || value === undefined || value === '') return null
  if (typeof value === 'string' || typeof value === 'number') return value
  return JSON.stringify(value)
}

/** Derives a property key from a name; null if the key would be empty or is reserved. */
export function derivePropertyKey(name: string): string | null {
  const key = name
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, MAX_KEY)
  return key === '' || (RESERVED_KEYS as readonly string[]).includes(key) ? null : key
}
