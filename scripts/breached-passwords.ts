/**
 * Generates config/breached-passwords.bin: the most common passwords, as sorted prefixes of their hashes.
 *
 *   npm pack @zxcvbn-ts/language-common@4.1.3 && tar xzf zxcvbn-ts-language-common-4.1.3.tgz
 *   node scripts/breached-passwords.ts package/src/passwords.json
 *
 * The source is a frequency list from published breaches (MIT license: config/breached-passwords.license.txt).
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { trimNonLetters, hashPrefix } from '../appliance/accounts/breached.ts'

/** Number of entries to keep. At four bytes each, the file size is 120 kB. */
const MOST = 30_000
/**
 * Minimum lengths of words without digits and symbols at their ends, and of all other passwords. The password rule
 * doesn't look up shorter ones.
 */
const SHORTEST_WORD = 5
const SHORTEST_WHOLE = 10

const [source] = process.argv.slice(2)
if (source === undefined) throw new Error('Usage: node scripts/breached-passwords.ts passwords.json')
const listed = JSON.parse(readFileSync(source, 'utf8')) as string[]
const useful = listed
  .map((password) => password.toLowerCase())
  .filter(
    (one) =>
      [...one].length >= SHORTEST_WHOLE || (one.length >= SHORTEST_WORD && trimNonLetters(one) === one),
  )
const prefixes = Uint32Array.from(new Set(useful.slice(0, MOST).map(hashPrefix))).sort()
const bytes = Buffer.alloc(prefixes.length * 4)
prefixes.forEach((prefix, at) => bytes.writeUInt32BE(prefix, at * 4))
writeFileSync(join(import.meta.dirname, '..', 'config', 'breached-passwords.bin'), bytes)
console.log(`${prefixes.length} of ${listed.length} passwords`)
