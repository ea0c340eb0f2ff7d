/** The health indicator shows the worse of the server's readiness and its checks. Pure. */
import type { DoctorReport } from '../../../appliance/api/doctor.ts'
import type { Health } from '../../../appliance/api/health.ts'

export interface NodeBadge {
  /** Tone of the indicator; `none` if the health isn't known yet. */
  tone: 'good' | 'warn' | 'bad' | 'none'
  /** A sentence. */
  words: string
  /** One-line description of the problem, shown beside the indicator; null if there is none. */
  problem: string | null
}

interface Known {
  health: Health | undefined
  /** The reason why the server couldn't be reached; null if there is none. */
  error: string | null
  /** The latest findings; undefined if unknown or not visible to this team. */
  doctor: DoctorReport | undefined
}

const firstSentence = (text: string): string => /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text

export function getNodeBadge({ health, error, doctor }: Known): NodeBadge {
  if (error !== null)
    return { tone: 'bad', words: `No response: ${error}`, problem: 'No response from the server' }
  if (!health) return { tone: 'none', words: 'Checking the server…', problem: null }
  if (health.status !== 'ok') {
    const why = health.reasons.join(' ')
    return {
      tone: 'bad',
      words: `The server isn’t accepting mail. ${why}`,
      problem: health.reasons[0] ?? 'Not accepting mail',
    }
  }
  const wrong = doctor?.checks.filter(({ status }) => status === 'failed' || status === 'warning') ?? []
  const [worst] = wrong.filter(({ status }) => status === doctor?.status)
  if (!worst)
    return {
      tone: 'good',
      words: doctor ? 'The server accepts mail, and its checks pass.' : 'The server accepts mail.',
      problem: null,
    }
  const others = wrong.length > 1 ? ` ${wrong.length - 1} more under Checks.` : ''
  return {
    tone: worst.status === 'failed' ? 'bad' : 'warn',
    words: `${worst.title}: ${firstSentence(worst.found)}${others}`,
    problem: `${worst.title}: ${firstSentence(worst.found)}`,
  }
}
