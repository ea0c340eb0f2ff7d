/** What the API document says of the audit log. */
import type { OperationNotes, ParameterNotes } from './openapi-operations.ts'

const text = { type: 'string' }

const CONDITIONS: Record<string, Omit<ParameterNotes, 'name'>> = {
  actor: {
    description: 'Only actions by this user, API key or account. Part of an address or a name is enough.',
    schema: text,
  },
  action: {
    description: 'Only this action, such as `domain.update`, or all actions on a type, such as `domain`.',
    schema: text,
  },
  target: { description: 'Only this target: a noun, an id, both, or part of a name.', schema: text },
  since: { description: 'Only entries at or after this time (ISO 8601).', schema: text },
  until: { description: 'Only entries before this time (ISO 8601).', schema: text },
  format: {
    description: 'File format. Default: CSV.',
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
    summary: 'List audit log entries',
    description: 'Newest first. The team that operates the server also sees actions on the whole server.',
    query: ['limit', 'after', 'before', ...conditions],
  },
  'GET /audit/:id': {
    id: 'getAuditEntry',
    tag: 'Audit log',
    summary: 'Get an audit log entry',
  },
  'GET /audit/export': {
    id: 'exportAudit',
    tag: 'Audit log',
    summary: 'Export the audit log',
    description: 'All matching entries, as CSV or as a JSON array.',
    query: [...conditions, 'audit_format'],
    answers: { type: 'text/csv', description: 'The entries, with a header row.' },
  },
}
