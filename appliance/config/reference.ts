/** Writes the commented example file and the reference page from the schema. `scripts/generate` keeps both up to date. */
import { stringify } from 'smol-toml'
import { expectation } from './check-value.ts'
import { SECTIONS, type Key, type KeySchema } from './keys.ts'

/** What stands for a required setting in the example. */
const examples: Record<string, unknown> = {
  hostname: 'mail.example.com',
  'notices.from': 'posthaste@example.com',
  'smtp.postmaster': 'ops@example.net',
  'tls_reports.from': 'tls-reports@example.com',
  'tls_reports.contact': 'postmaster@example.com',
  'storage.url': 'postgres://posthaste:secret@127.0.0.1/posthaste',
  'http.public_url': 'https://mail.example.com',
  'http.admin_url': 'https://mail-admin.example.com',
  'delivery.providers': '/etc/posthaste/providers.toml',
  'delivery.bounces': '/etc/posthaste/bounces.toml',
  'tracking.robots': '/etc/posthaste/robots.toml',
  'doctor.blocklists': '/etc/posthaste/blocklists.toml',
  'secrets.master_key_file': '/etc/posthaste/master.key',
  'doctor.targets': '/etc/posthaste/doctor.toml',
  'retention.disk_budget_mb': 20_000,
  'limits.plans': '/etc/posthaste/plans.toml',
  'tls.cert': '/etc/posthaste/cert.pem',
  'tls.key': '/etc/posthaste/key.pem',
  'acme.email': 'you@example.com',
  'acme.hook': '/etc/posthaste/acme-hook',
  'acme.eab_key_id': 'kid-1',
  'acme.eab_hmac_key': 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG4',
  'acme.ca': '/etc/posthaste/acme-ca.pem',
}

/** A value as TOML writes it. */
function toml(value: unknown): string {
  return Array.isArray(value)
    ? `[${value.map(toml).join(', ')}]`
    : stringify({ value }).slice('value = '.length).trim()
}

/** Breaks a text into lines of at most `width` characters. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

function laterSentence({ later }: KeySchema): string {
  return later === undefined ? '' : ` Not used in this version (${later}).`
}

const ownName = ({ name }: Key): string => name.split('.').at(-1)!

/** config/posthaste.example.toml: every setting with its meaning and default, commented out unless it is required. */
export function renderExample(): string {
  const lines = [
    '# Configuration of Posthaste. Copy to /etc/posthaste/posthaste.toml, or name another place with --config.',
    '# Lines that begin with "#" and a key show its default, or an example where there is none.',
    '# Each setting can also come from the environment, which beats this file: http.listen is POSTHASTE_HTTP__LISTEN.',
    '# Made by scripts/generate.',
    '',
  ]
  for (const { name, description, keys } of SECTIONS) {
    if (name !== null) lines.push(`# ${'─'.repeat(20)}  ${description}`, `[${name}]`, '')
    for (const key of keys) lines.push(...renderKey(key), '')
  }
  return lines.join('\n').trimEnd() + '\n'
}

function renderKey(key: Key): string[] {
  const { schema, required } = key
  const comment = wrap(`${schema.description ?? ''}${laterSentence(schema)}`, 108).map((line) => `# ${line}`)
  const value = schema.default ?? examples[key.name]
  return [...comment, `${required ? '' : '#'}${ownName(key)} = ${toml(value)}`]
}

/** docs/configuration.md: the same as a page. */
export function renderReference(): string {
  const parts = [
    `# Configuration

Posthaste reads one TOML file: the one given with \`--config\`, else \`/etc/posthaste/posthaste.toml\`. Every setting can also come from
an environment variable, which beats the file; lists are written with commas between their elements or as JSON, empty variables count
as unset. An unknown key or a bad value stops the start with a list of everything that is wrong, each with its line.

A file to start from, with every setting and its default: \`config/posthaste.example.toml\`. The only required setting is \`hostname\`.

This page is made from \`appliance/config/schema.ts\` by \`scripts/generate\`.`,
  ]
  for (const { name, description, keys } of SECTIONS) {
    parts.push(name === null ? '## General' : `## \`[${name}]\`\n\n${description}`)
    parts.push(...keys.map(renderEntry))
  }
  return parts.join('\n\n') + '\n'
}

function renderEntry(key: Key): string {
  const { schema, required, variable } = key
  const standard = required
    ? 'none, it must be set'
    : schema.default === undefined
      ? 'none'
      : `\`${toml(schema.default)}\``
  const fields = schema.items?.properties
  return [
    `### \`${key.name}\``,
    '',
    `${schema.description ?? ''}${laterSentence(schema)}`,
    '',
    `- Takes: ${expectation(schema)}`,
    ...(fields
      ? [
          `- Each table has: ${Object.keys(fields)
            .map((name) => `\`${name}\``)
            .join(', ')}`,
        ]
      : []),
    `- Default: ${standard}`,
    `- Environment: \`${variable}\``,
  ].join('\n')
}
