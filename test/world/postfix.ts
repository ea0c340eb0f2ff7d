import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startPostfixInstance, type PostfixFolders } from './postfix-instance.ts'
import { PATIENCE } from './patience.ts'

/** A real Postfix that receives mail on port 25 of a loopback address. Needs root. */
export interface Postfix {
  readonly address: string
  /** Returns the delivered messages in the mailbox, in order of arrival. */
  messages(): Promise<string[]>
  /** Waits until this many messages have arrived. */
  waitFor(count: number): Promise<string[]>
  log(): Promise<string>
  close(): Promise<void>
}

export interface PostfixOptions {
  domain: string
  host: string
  /** Additional main.cf parameters, which override the defaults. */
  settings?: Record<string, string | number>
  /** Additional lines for master.cf. */
  services?: string
}

/**
 * Parses the arrival time of a maildir file. Postfix starts its name with seconds and puts microseconds after an M
 * (virtual(8)).
 */
function arrivalOf(name: string): number {
  const [, seconds, micros] = /^(\d+)\..*M(\d+)\./.exec(name)!
  return Number(seconds) + Number(micros) / 1_000_000
}

/** Starts a Postfix named `host` that accepts mail for `domain` and offers STARTTLS. */
export async function startPostfix({
  domain,
  host,
  settings: own,
  services = '',
}: PostfixOptions): Promise<Postfix> {
  let inbox = ''
  const settings = ({ mail, uid, gid }: PostfixFolders) => {
    inbox = join(mail, 'inbox', 'new')
    return {
      myhostname: host,
      virtual_mailbox_domains: domain,
      virtual_mailbox_base: mail,
      virtual_mailbox_maps: 'static:inbox/',
      virtual_uid_maps: `static:${uid}`,
      virtual_gid_maps: `static:${gid}`,
      virtual_minimum_uid: '1',
      smtpd_tls_security_level: 'may',
      smtpd_tls_received_header: 'yes',
      smtpd_tls_cert_file: join(import.meta.dirname, 'tls', 'self-signed.pem'),
      smtpd_tls_key_file: join(import.meta.dirname, 'tls', 'self-signed.key'),
      smtpd_recipient_restrictions: 'reject_unauth_destination',
      ...own,
    }
  }
  const { address, log, close } = await startPostfixInstance((folders) => ({
    settings: settings(folders),
    services,
  }))
  const messages = async (): Promise<string[]> => {
    const names = await readdir(inbox).catch(() => []) // nothing delivered yet
    return Promise.all(
      names.sort((a, b) => arrivalOf(a) - arrivalOf(b)).map((name) => readFile(join(inbox, name), 'latin1')),
    )
  }
  return {
    address,
    messages,
    log,
    close,
    async waitFor(count) {
      const end = Date.now() + PATIENCE
      for (;;) {
        const found = await messages()
        if (found.length >= count) return found
        if (Date.now() > end)
          throw new Error(`${found.length} of ${count} messages; the log:\n${await log()}`)
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
  }
}
