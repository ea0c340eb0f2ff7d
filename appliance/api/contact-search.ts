/** Parameters that filter a search for contacts. */
import { SUBSCRIPTIONS } from '../mail/audience.ts'
import { refuse } from '../mail/refusals.ts'
import { choice, id, optional } from './parameters.ts'
import { boolean, string } from './schemas.ts'

const flag = (description: string) =>
  optional(boolean(description), (given, parameter) => {
    if (given !== 'true' && given !== 'false')
      throw refuse('invalid_parameter', { parameter, expected: 'true or false' })
    return given === 'true'
  })

export const filter = {
  segment_id: id('Only contacts in this segment.'),
  unsubscribed: flag('true: only contacts who opted out of everything; false: only others.'),
}

/** Maximum number of characters of a search text. */
const MAX_SEARCH = 254

/** Reads the text that an address or name must contain. Refuses: `invalid_parameter`. */
export function parseSearchText(given: string, parameter: string): string {
  const text = given.trim()
  if (text === '' || text.length > MAX_SEARCH || text.includes('\0'))
    throw refuse('invalid_parameter', {
      parameter,
      expected: `a single string of 1 to ${MAX_SEARCH} characters`,
    })
  return text
}

/** Maximum number of characters of the rules of a search. */
const MAX_RULES = 4000

/** Parses rules. Refuses: `invalid_parameter`. */
function readRulesText(given: string, parameter: string): unknown {
  try {
    if (given.length <= MAX_RULES) return JSON.parse(given) as unknown
  } catch {
    // Refused below.
  }
  throw refuse('invalid_parameter', { parameter, expected: `JSON of at most ${MAX_RULES} characters` })
}

/** The filter parameters of a search. */
export const conditions = {
  ...filter,
  suppressed: flag('true: only contacts on the suppression list; false: only others.'),
  text: optional(
    string('What the address or a name must contain.', { maxLength: MAX_SEARCH }),
    parseSearchText,
  ),
  topic_id: id('Only contacts with a choice for this topic.'),
  subscription: choice(SUBSCRIPTIONS, 'Which choice for the topic. Default: opt_in.'),
  rules: optional(
    string('Rules as JSON, as the `filter` of a segment has them: by property, by time, and others.', {
      examples: ['{"type":"rule","field":"contact.created_at","operator":"gte","value":"7 days ago"}'],
    }),
    readRulesText,
  ),
}
