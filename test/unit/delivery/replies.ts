import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import type { BounceAction, BounceCategory, BounceSubtype, Phase } from '../../../appliance/mail/bounce.ts'

/** A real server's reply, and what it must mean for a delivery that was alone in its transaction. */
export interface Row {
  /** Where the text is published, or "from knowledge". */
  source: string
  who: string
  /** ID of the mailbox provider (config/providers.toml); null if it is none of those. */
  provider: string | null
  phase: Phase
  reply: string
  action: BounceAction
  category: BounceCategory
  subType: BounceSubtype
}

type Written = Omit<Row, 'source' | 'provider' | 'subType'> & { provider?: string; sub_type: BounceSubtype }

const text = readFileSync(join(import.meta.dirname, 'replies.toml'), 'utf8')
const { group } = parse(text) as unknown as { group: { source: string; replies: Written[] }[] }

/** The table of replies.toml, row by row. */
export const REPLIES: Row[] = group.flatMap(({ source, replies }) =>
  replies.map(({ provider = null, sub_type: subType, ...row }) => ({ source, provider, subType, ...row })),
)
