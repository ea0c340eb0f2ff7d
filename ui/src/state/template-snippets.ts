/** Code that sends an email with a template, with every variable filled in. Pure. */
import type { Template } from '../../../appliance/api/templates.ts'
import { quoteForShell } from './curl.ts'
import type { Language } from './smtp-snippets.ts'
import { getSampleValue, findUndeclaredNames } from './template-samples.ts'

type Value = string | number | object
/** The body of an API request: values by field, in the order in which the code shows them. */
type Fields = Record<string, Value>

type Called = Pick<Template, 'id' | 'alias' | 'from' | 'subject' | 'html' | 'text' | 'variables'>

/**
 * Returns a request that sends a template: the fields that the template doesn't set, its alias, and a value for each
 * variable.
 */
export function buildTemplateRequest(template: Called, domain: string): Fields {
  const variables = Object.fromEntries([
    ...template.variables.map(
      ({ key, type, fallback_value: fallback }) => [key, fallback ?? getSampleValue(key, type)] as const,
    ),
    ...findUndeclaredNames(template).map((key) => [key, getSampleValue(key, 'string')] as const),
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
 * Returns code that sends a template. The code reads the API key from an environment variable.
 * @param origin origin of the API, without a trailing slash. domain: domain of the From address, if the template has
 * none
 */
export function renderTemplateSnippet(
  language: Language,
  template: Called,
  { origin, domain }: { origin: string; domain: string },
): string {
  const request = buildTemplateRequest(template, domain)
  switch (language) {
    case 'curl':
      return `curl ${quoteForShell(`${origin}/emails`)} \\
  -H "Authorization: Bearer $POSTHASTE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${quoteForShell(JSON.stringify(request, null, 2))}`
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

/** Formats the fields of an object, one per line. */
const block = (value: object, indent: string, line: (key: string, one: Value) => string) =>
  Object.entries(value as Fields)
    .map(([key, one]) => `${indent}${line(key, one)},\n`)
    .join('')

/** Returns a literal in single quotes. `JSON.stringify` escapes backslashes and control characters. */
const singleQuoted = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

function inJavaScript(value: Value, indent: string): string {
  if (typeof value === 'string') return singleQuoted(value)
  if (typeof value === 'number') return String(value)
  const deeper = `${indent}  `
  const name = (key: string) => (/^[A-Za-z]\w*$/.test(key) ? key : `[${singleQuoted(key)}]`)
  return `{\n${block(value, deeper, (key, one) => `${name(key)}: ${inJavaScript(one, deeper)}`)}${indent}}`
}

/** Formats a value in Python. JSON's escapes are valid in Python, except for lone surrogates. */
function inPython(value: Value, indent: string): string {
  if (typeof value !== 'object') return JSON.stringify(value)
  const deeper = `${indent}    `
  return `{\n${block(value, deeper, (key, one) => `${JSON.stringify(key)}: ${inPython(one, deeper)}`)}${indent}}`
}

/** Formats a value in PHP. Strings in single quotes have only two escapes, and may contain line breaks. */
function inPhp(value: Value, indent: string): string {
  if (typeof value === 'string') return `'${value.replaceAll(/[\\']/g, String.raw`\$&`)}'`
  if (typeof value === 'number') return String(value)
  const deeper = `${indent}    `
  return `[\n${block(value, deeper, (key, one) => `${inPhp(key, '')} => ${inPhp(one, deeper)}`)}${indent}]`
}
