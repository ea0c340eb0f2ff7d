/** Code that sends an email with a template, with every variable filled in. Pure. */
import type { Template } from '../../../appliance/api/templates.ts'
import { quotedForShell } from './curl.ts'
import type { Language } from './smtp-snippets.ts'
import { sampleValue, undeclared } from './template-samples.ts'

type Value = string | number | object
/** A call of the API: values by field, in the order in which they are written. */
type Fields = Record<string, Value>

type Called = Pick<Template, 'id' | 'alias' | 'from' | 'subject' | 'html' | 'text' | 'variables'>

/** Returns the request that sends a template: what it doesn't set itself, its alias, and a value for each variable. */
export function requestOf(template: Called, domain: string): Fields {
  const variables = Object.fromEntries([
    ...template.variables.map(
      ({ key, type, fallback_value: fallback }) => [key, fallback ?? sampleValue(key, type)] as const,
    ),
    ...undeclared(template).map((key) => [key, sampleValue(key, 'string')] as const),
  ])
  return {
    ...(!template.from && { from: `Me <hello@${domain}>` }),
    to: 'someone@example.com',
    ...(!template.subject && { subject: 'Hello' }),
    template: {
      id: template.alias ?? template.id,
      ...(Object.keys(variables).length > 0 && { variables }),
    },
  }
}

/**
 * Returns code that sends a template. The API key is an environment variable.
 * @param origin of the API, without a trailing slash. domain: of the From address, if the template has none
 */
export function templateSnippet(
  language: Language,
  template: Called,
  { origin, domain }: { origin: string; domain: string },
): string {
  const request = requestOf(template, domain)
  switch (language) {
    case 'curl':
      return `curl ${quotedForShell(`${origin}/emails`)} \\
  -H "Authorization: Bearer $POSTHASTE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${quotedForShell(JSON.stringify(request, null, 2))}`
    case 'node':
      return `// npm install resend
import { Resend } from 'resend'

const posthaste = new Resend(process.env.POSTHASTE_API_KEY, {
  baseUrl: ${inJavaScript(origin, '')},
})

const { data, error } = await posthaste.emails.send(${inJavaScript(request, '')})
console.log(error ?? data)`
    case 'python':
      return `# pip install resend
import os
import resend

resend.api_url = ${JSON.stringify(origin)}
resend.api_key = os.environ["POSTHASTE_API_KEY"]

email = resend.Emails.send(${inPython(request, '')})
print(email["id"])`
    case 'php':
      return `// composer require resend/resend-php
require 'vendor/autoload.php';

putenv(${inPhp(`RESEND_BASE_URL=${origin}`, '')});
$posthaste = Resend::client(getenv('POSTHASTE_API_KEY'));

$email = $posthaste->emails->send(${inPhp(request, '')});
echo $email->id;`
  }
}

/** Writes the fields of an object, one on each line. */
const block = (value: object, indent: string, line: (key: string, one: Value) => string) =>
  Object.entries(value as Fields)
    .map(([key, one]) => `${indent}${line(key, one)},\n`)
    .join('')

/** Escapes what would end a literal in single quotes or break its line. JSON covers control characters. */
const singleQuoted = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

function inJavaScript(value: Value, indent: string): string {
  if (typeof value === 'string') return singleQuoted(value)
  if (typeof value === 'number') return String(value)
  const deeper = `${indent}  `
  const name = (key: string) => (/^[A-Za-z]\w*$/.test(key) ? key : `[${singleQuoted(key)}]`)
  return `{\n${block(value, deeper, (key, one) => `${name(key)}: ${inJavaScript(one, deeper)}`)}${indent}}`
}

/** Escapes of JSON are also those of Python, for all text without lone surrogates. */
function inPython(value: Value, indent: string): string {
  if (typeof value !== 'object') return JSON.stringify(value)
  const deeper = `${indent}    `
  return `{\n${block(value, deeper, (key, one) => `${JSON.stringify(key)}: ${inPython(one, deeper)}`)}${indent}}`
}

/** Strings in single quotes have two escapes in PHP. Line breaks stay as they are. */
function inPhp(value: Value, indent: string): string {
  if (typeof value === 'string') return `'${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`
  if (typeof value === 'number') return String(value)
  const deeper = `${indent}    `
  return `[\n${block(value, deeper, (key, one) => `${inPhp(key, '')} => ${inPhp(one, deeper)}`)}${indent}]`
}
