/**
 * Reads passphrases and keys for backups from files. They are never typed as arguments, so they don't appear in process
 * lists and shell history.
 */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { Failure, UsageError, describeFileError } from './failure.ts'

/** Reads the encryption options; undefined for an unencrypted backup. */
export function parseEncryptionOptions({
  recipient = [],
  passphraseFile,
}: {
  recipient?: string[]
  passphraseFile?: string
}): { recipients: string[] } | { passphrase: string } | undefined {
  if (passphraseFile !== undefined && recipient.length > 0)
    throw new UsageError('--recipient and --passphrase-file cannot be combined. Use only one of them.')
  if (passphraseFile !== undefined) return { passphrase: readPassphrase(passphraseFile) }
  return recipient.length > 0 ? { recipients: recipient } : undefined
}

/** Reads the decryption options; undefined if none is given. */
export function parseDecryptionOptions({
  identityFile,
  passphraseFile,
}: {
  identityFile?: string
  passphraseFile?: string
}): { identities: string[] } | { passphrase: string } | undefined {
  if (passphraseFile !== undefined && identityFile !== undefined)
    throw new UsageError('--identity-file and --passphrase-file cannot be combined. Use only one of them.')
  if (passphraseFile !== undefined) return { passphrase: readPassphrase(passphraseFile) }
  return identityFile === undefined ? undefined : { identities: readIdentities(identityFile) }
}

/** Reads the first line of a file, without its line end. */
function readPassphrase(file: string): string {
  const [passphrase = ''] = readPrivate(file).split(/\r?\n/)
  if (passphrase === '') throw new Failure(`${file} has no passphrase on its first line.`)
  return passphrase
}

/** Reads one key per line. Comment lines are allowed, as age-keygen writes them. */
function readIdentities(file: string): string[] {
  const lines = readPrivate(file)
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
  if (lines.length === 0) throw new Failure(`${file} does not contain an age identity.`)
  return lines
}

/** Reads a file. Refuses a file that anyone besides its owner and group can read. */
function readPrivate(file: string): string {
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    if ((fstatSync(descriptor).mode & 0o007) !== 0)
      throw new Failure(`Everyone on this machine can read ${file}. Run: chmod 600 ${file}`)
    return readFileSync(descriptor, 'utf8')
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure(`${file} could not be read: ${describeFileError(error)}`, { cause: error })
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
