/** What the API document says of the audit log. */
import type { OperationNotes, ParameterNotes } from './openapi-operations.ts'

const text = { type: 'string' }

const CONDITIONS: Record<string, Omit<ParameterNotes, 'name'>> = {
  actor: {
    description: 'Only what this person, key or account did. Part of an address or of a name is enough.',
    schema: text,
  },
  action: { description: 'Only this action, `domain.update`, or all of a noun, `domain`.', schema: text },
  target: { description: 'Only what was about this: a noun, an id, both, or part of a name.', schema: text },
  since: { description: 'Only what was done at or after this instant (ISO 8601).', schema: text },
  until: { description: 'Only what was done before this instant (ISO 8601).', schema: text },
  format: {
    description: 'Of the file; CSV by default.',
    schema: { type: 'string', enum: ['csv', 'json'], default: 'csv' },
  },
}

/** The conditions as query parameters: their names mean other things elsewhere. */
export const AUDIT_PARAMETERS: Record<string, ParameterNotes> = Object.fromEntries(
  Object.entries(CONDITIONS).map(([name, notes]) => [`audit_${name}`, { name, ...notes }]),
)

const conditions = Object.keys(AUDIT_PARAMETERS).filter((name) => name !== 'audit_format')

/** The words for each route. */
export const auditOperations: Record<string, OperationNotes> = {
  'GET /audit': {
    id: 'listAudit',
    tag: 'Audit log',
    summary: 'List what was done',
    description:
      'Who did what, newest first. The team that runs the server also sees what was done to the whole of it.',
    query: ['limit', 'after', 'before', ...conditions],
  },
  'GET /audit/:id': {
    id: 'getAuditEntry',
    tag: 'Audit log',
    summary: 'Retrieve an entry of the audit log',
  },
  'GET /audit/export': {
    id: 'exportAudit',
    tag: 'Audit log',
    summary: 'Export the audit log',
    description: 'Everything that meets the conditions, as CSV or as a JSON list.',
    query: [...conditions, 'audit_format'],
    answers: { type: 'text/csv', description: 'The list, with a line of column names.' },
  },
}
