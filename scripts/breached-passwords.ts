/**
 * Makes config/breached-passwords.bin: which passwords everybody tries first, as sorted prefixes of their hashes.
 *
 *   npm pack @zxcvbn-ts/language-common@4.1.3 && tar xzf zxcvbn-ts-language-common-4.1.3.tgz
 *   node scripts/breached-passwords.ts package/src/passwords.json
 *
 * The source is a list by frequency in published breaches (MIT licence: config/breached-passwords.license.txt).
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { coreOf, prefixOf } from '../appliance/accounts/breached.ts'

/** Entries kept: with four octets each, a file of 120 kB. */
const MOST = 30_000
/** What the rule never asks for is not kept: shorter words, and those that would lose signs at their ends. */
const SHORTEST_WORD = 5
const SHORTEST_WHOLE = 10

const [source] = process.argv.slice(2)
if (source === undefined) throw new Error('Usage: node scripts/breached-passwords.ts passwords.json')
const listed = JSON.parse(readFileSync(source, 'utf8')) as string[]
const useful = listed
  .map((password) => password.toLowerCase())
  .filter((one) => [...one].length >= SHORTEST_WHOLE || (one.length >= SHORTEST_WORD && coreOf(one) === one))
const prefixes = Uint32Array.from(new Set(useful.slice(0, MOST).map(prefixOf))).sort()
const bytes = Buffer.alloc(prefixes.length * 4)
prefixes.forEach((prefix, at) => bytes.writeUInt32BE(prefix, at * 4))
writeFileSync(join(import.meta.dirname, '..', 'config', 'breached-passwords.bin'), bytes)
console.log(`${prefixes.length} of ${listed.length} passwords`)
