import { spawnSync } from 'node:child_process'

/** A report as read by Python's email package, an independent parser. */
export interface ReadReport {
  /** The parser's defects, without those of the returned message. */
  defects: string[]
  /** Content types, outermost first. */
  types: string[]
  header: Record<string, string>
  /** Transfer encodings, in the order of `types`. */
  encodings: (string | null)[]
  text: string
  /** The field groups of message/delivery-status: for the message, then for each recipient. */
  status: Record<string, string>[]
  /** The third part: the returned message, or its header section. */
  returned: string | null
}

const PROGRAM = `
import sys, json, email, email.policy
message = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
parts = [message, *message.iter_parts()]
status = next((p for p in parts if p.get_content_type() == 'message/delivery-status'), None)
every = parts + (status.get_payload() if status else [])
returned = parts[3] if len(parts) > 3 else None
def raw(part):
    inner = part.get_payload()
    if isinstance(inner, list):
        return inner[0].as_bytes().decode('latin1')
    return part.get_payload(decode=True).decode('latin1')
def defects(part):
    found = [repr(d) for d in part.defects]
    return found + [repr(d) for value in part.values() for d in getattr(value, 'defects', [])]
print(json.dumps({
  'defects': [d for p in every for d in defects(p)],
  'types': [p.get_content_type() for p in parts],
  'encodings': [p['Content-Transfer-Encoding'] for p in parts],
  'header': {k: str(v) for k, v in message.items()},
  'text': parts[1].get_content().replace('\\r\\n', '\\n') if len(parts) > 1 else '',
  'status': [dict((k, ' '.join(str(v).split())) for k, v in group.items()) for group in (status.get_payload() if status else [])],
  'returned': raw(returned) if returned is not None else None,
}))
`

/** Reads a message with Python. Throws with Python's output if that fails. */
export function readReport(raw: Uint8Array): ReadReport {
  const { status, stdout, stderr } = spawnSync('/usr/bin/python3', ['-c', PROGRAM], { input: raw })
  if (status !== 0) throw new Error(stderr.toString())
  return JSON.parse(stdout.toString()) as ReadReport
}
