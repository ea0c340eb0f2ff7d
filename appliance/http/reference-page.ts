/** The reference for people: one page without a script, made from the OpenAPI document. Pure. */
import type { Schema, Response } from './openapi-components.ts'
import type { ApiDocument, Operation, Parameter } from './openapi.ts'
import { fieldTable, typeName } from './reference-fields.ts'
import { blocks, codeBlock, escapeHtml, inline } from './reference-html.ts'
import { REFERENCE_STYLE } from './reference-style.ts'

interface Entry {
  method: string
  path: string
  operation: Operation
}

/** The whole page. */
export function referencePage(document: ApiDocument): string {
  const { info, tags } = document
  const entries = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Entry => ({ method, path, operation })),
  )
  const groups = tags.map((tag) => ({
    ...tag,
    entries: entries.filter(({ operation }) => operation.tags[0] === tag.name),
  }))
  const title = `${escapeHtml(info.title)} API`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} reference</title>
<style>${REFERENCE_STYLE}</style>
</head>
<body>
<nav aria-label="Contents"><details><summary>${title}</summary>
${groups.map(({ name, entries: own }) => navGroup(name, own)).join('\n')}
</details></nav>
<main>
<h1>${title}</h1>
<p class="facts">Version ${escapeHtml(info.version)} · <a href="/openapi.json">OpenAPI document</a> · <a href="/dashboard/">Dashboard</a></p>
<div class="intro">${blocks(info.description)}</div>
${groups.map((group) => section(group, document)).join('\n')}
</main>
</body>
</html>
`
}

const anchor = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')

function navGroup(name: string, entries: Entry[]): string {
  const items = entries
    .filter(({ operation }) => !operation.deprecated)
    .map(
      ({ operation }) => `<li><a href="#${operation.operationId}">${escapeHtml(operation.summary)}</a></li>`,
    )
  return `<b><a href="#${anchor(name)}">${escapeHtml(name)}</a></b><ul>${items.join('')}</ul>`
}

function section(
  { name, description, entries }: { name: string; description: string; entries: Entry[] },
  document: ApiDocument,
): string {
  return `<section class="group" id="${anchor(name)}">
<h2>${escapeHtml(name)}</h2>
<p>${inline(description)}</p>
${entries.map((entry) => article(entry, document)).join('\n')}
</section>`
}

function article({ method, path, operation }: Entry, document: ApiDocument): string {
  const { operationId, summary, description, deprecated, parameters = [], requestBody } = operation
  const body = requestBody?.content['application/json']
  const answers = Object.entries(operation.responses).filter(([status]) => status < '300')
  const left = [
    description === undefined ? '' : `<p>${inline(description)}</p>`,
    parameterTable(parameters),
    body ? `<h4>Body</h4>${fieldTable(body.schema, document)}` : '',
    errors(operation, document),
  ]
  const right = [
    ...(body
      ? [`<h4>Request</h4>${codeBlock(curl(method, path, operation, body.example))}`]
      : [`<h4>Request</h4>${codeBlock(curl(method, path, operation))}`]),
    ...answers.map(([status, answer]) => answerBlock(status, answer, document)),
  ]
  return `<article id="${operationId}">
<h3>${escapeHtml(summary)}</h3>
<div class="call"><span class="method ${method}">${method.toUpperCase()}</span><span class="path">${escapeHtml(path)}</span>${deprecated ? '<span class="tag">older path</span>' : ''}${access(operation)}</div>
${deprecated ? left[0] : `<div class="columns"><div>${left.join('\n')}</div><div>${right.join('\n')}</div></div>`}
</article>`
}

function access({ security }: Operation): string {
  if (security.length === 0) return '<span class="tag">no key needed</span>'
  return security.some((one) => 'apiKey' in one) ? '' : '<span class="tag">dashboard only</span>'
}

function parameterTable(parameters: Parameter[]): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(
    ({ name, in: place, required, description, schema }) =>
      `<tr><td><code>${escapeHtml(name)}</code><span class="type">${place}, ${typeName(schema)}${required ? ' <span class="must">required</span>' : ''}</span></td><td>${inline(description)}</td></tr>`,
  )
  return `<h4>Parameters</h4><table class="fields"><tbody>${rows.join('')}</tbody></table>`
}

function answerBlock(status: string, answer: Response | { $ref: string }, document: ApiDocument): string {
  if ('$ref' in answer) return ''
  const [[type, content] = []] = Object.entries(answer.content ?? {})
  const heading = `<h4>Answer ${status}${type === undefined || type === 'application/json' ? '' : `, ${escapeHtml(type)}`}</h4>`
  if (content === undefined || type !== 'application/json')
    return `${heading}<p>${inline(answer.description)}</p>`
  return `${heading}${codeBlock(JSON.stringify(content.example, null, 2))}${answerFields(content.schema, document)}`
}

function answerFields(schema: Schema, document: ApiDocument): string {
  return `<details class="answer"><summary>Fields of the response</summary>${fieldTable(schema, document)}</details>`
}

function errors({ responses }: Operation, document: ApiDocument): string {
  const lines = Object.entries(responses).flatMap(([, answer]) => {
    if (!('$ref' in answer)) return []
    const known = document.components.responses[answer.$ref.split('/').at(-1)!]
    return known ? [`<li>${inline(known.description)}</li>`] : []
  })
  return lines.length === 0
    ? ''
    : `<details class="inner"><summary>Errors</summary><ul class="errors">${lines.join('')}</ul></details>`
}

/** A line for the shell; quotes as POSIX shells want them. */
function curl(method: string, path: string, { security }: Operation, example?: unknown): string {
  const verb = method === 'get' ? '' : `-X ${method.toUpperCase()} `
  const lines = [`curl ${verb}"$POSTHASTE${path}"`]
  if (security.some((one) => 'apiKey' in one)) lines.push('-H "Authorization: Bearer $KEY"')
  if (example !== undefined) {
    lines.push('-H "Content-Type: application/json"')
    lines.push(`-d '${JSON.stringify(example, null, 2).replaceAll("'", String.raw`'\''`)}'`)
  }
  return lines.join(' \\\n  ')
}
