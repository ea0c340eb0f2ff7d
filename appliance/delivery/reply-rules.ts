import type { Reply } from '../mail/reply.ts'

/**
 * What replies mean beyond their codes. Providers use codes loosely: "550 greylisted" passes in minutes, "554" may speak of our address and
 * not of the recipient. The first rule whose text or enhanced code fits names the topic.
 */

/** Bounces in the words of the wire format (reference: wire format §5.3). */
export type SubType =
  'General' | 'NoEmail' | 'MailboxFull' | 'MessageTooLarge' | 'ContentRejected' | 'AttachmentRejected'

/** What a reply is about, and how to tell. */
export interface Rule {
  topic: string
  /** What the server says, in words that complete "mx.example.com …". */
  says: string
  /** The trouble passes, or is ours to mend, even where the code says "never" (5yz). */
  passes: boolean
  subType: SubType
  /** One of them must be found in the text, its lines joined by spaces. */
  text?: readonly RegExp[]
  enhanced?: RegExp
}

/**
 * In order of precedence: texts before enhanced codes, since the codes are often too general; what is certain about the recipient before
 * words such as "try again later", which also stand in permanent refusals.
 */
export const RULES: readonly Rule[] = [
  {
    topic: 'greylisted',
    says: 'asks to come back later (greylisting)',
    passes: true,
    subType: 'General',
    text: [/gr[ea]y-?list|postgrey/i],
  },
  {
    topic: 'sender',
    says: 'refuses the sender address',
    passes: false,
    subType: 'General',
    text: [
      /sender('s)? (address|domain|e-?mail|verif\w+)|invalid sender|sender (is )?(rejected|denied|refused|unknown|not)/i,
      /return.?path|\bmail from\b|\bfrom address\b/i,
    ],
  },
  {
    topic: 'no-mailbox',
    says: 'says that the mailbox does not exist',
    passes: false,
    subType: 'NoEmail',
    text: [
      /\b(unknown|no such|invalid|non-?existent|bad|unrouteable|not a (valid|known)) ((local|virtual|destination|e-?mail|recipient) )?(user|mailbox|recipient|address|alias|account)\b(?! syntax)/i,
      /(user|mailbox|recipient|account|addressee|address|alias)( <[^>]*>)?( is| was|:)? (unknown|not found|not known|invalid|non-?existent|undeliverable)\b/i,
      /(user|mailbox|recipient|account|address|inbox|mail)\b[^.]{0,80}(does ?n[o']t|doesn.t|do not|not) exist/i,
      /(doesn.t|does not|do not) have an?\b.{0,40}\baccount|no mailbox (here )?by that name|no (one|person) (with|at) th(at|is)/i,
      /unknown in (local|virtual|relay)|recipient address rejected: access denied|mailbox unavailable or (not found|access denied)/i,
      /empf(ae|ä)nger unbekannt|utilisateur inconnu|adresse d.au moins un destinataire invalide|utente sconosciuto|usuario desconocido/i,
    ],
  },
  {
    topic: 'rate-limited',
    says: 'takes no more mail from us for a while (rate limit)',
    passes: true,
    subType: 'General',
    text: [
      /rate[ -]?limit|throttl|too (fast|quickly|frequent)|frequency|unusual rate|hourly|daily (limit|sending)/i,
      /too (many|much) (messages?|mails?|e-?mails?|(concurrent )?(smtp )?connections?|sessions?|requests?|recipients (from|this)|unknown|bad|errors?|invalid)/i,
      /(message|connection|sending|mail) (rate|limit)( limit)? (exceeded|reached)|max(imum)? (number of )?(connections|messages)/i,
    ],
  },
  {
    topic: 'mailbox-full',
    says: 'says that the mailbox is full',
    passes: true,
    subType: 'MailboxFull',
    text: [
      /(mailbox|account|user|inbox|recipient|maildir)\b.{0,60}\b(is full|full\b|out of (storage|space))/i,
      /over[ -]?quota|quota (is )?(exceeded|full)|exceed(s|ed)? .{0,30}(quota|storage allocation)|(mailbox|disk|storage) (is )?full/i,
      /not enough storage|insufficient (disk|mailbox) space/i,
    ],
  },
  {
    topic: 'busy',
    says: 'has trouble of its own for the moment',
    passes: true,
    subType: 'General',
    text: [
      /\bbusy\b|overload|internal (server )?error|system (error|failure|resources)|out of memory|load (is )?too high/i,
      /(?<!\b(not a|non) )temporar(y|ily)\b|(try|retry|resend|come back|again)\b.{0,20}\b(later|shortly|soon|in (a|some|\d+|few))\b|deferred/i,
    ],
  },
  {
    topic: 'mailbox-closed',
    says: 'says that the mailbox is closed or disabled',
    passes: false,
    subType: 'General',
    text: [
      /(mailbox|account|user|recipient|address)\b.{0,60}\b(disabled|inactive|deactivated|deleted|closed|expired|suspended|discontinued|no longer)/i,
      /(disabled|inactive|deactivated|closed) (mailbox|account|user|recipient)/i,
    ],
  },
  {
    topic: 'unauthenticated',
    says: 'refuses the message because its SPF, DKIM or DMARC check failed',
    passes: false,
    subType: 'General',
    text: [
      /\bdmarc\b|\bdkim\b|\bspf\b|sender policy framework|unauthenticated|not authenticated|authentication (checks?|results?)/i,
    ],
  },
  {
    topic: 'content',
    says: 'refuses the content of the message',
    passes: false,
    subType: 'ContentRejected',
    text: [
      /\b(surbl|uribl|dbl\.spamhaus)|\b(links?|urls?|uri)\b.{0,40}(listed|blocked|blacklist)/i,
      /\b(likely|as|is|considered|classified|like|contains?|detected|for) (to be )?(an? )?(spam|unsolicited|junk|bulk|phish|virus|malware)/i,
      /\b(spam|junk|virus|malware|phishing|anti-?spam)( \w+)? (detected|found|message|mail|content|filter|engine|score|policy|reject(ed)?|suspected)/i,
      /message contains|content (rejected|denied|refused|filter|violat\w+|not (accept|allow)\w*)|suspicious due to .{0,40}(content|domain)/i,
      /unsolicited (bulk|mail)|high probability of spam|spam-like/i,
    ],
  },
  {
    topic: 'attachment',
    says: 'refuses an attachment of the message',
    passes: false,
    subType: 'AttachmentRejected',
    text: [
      /attachment|(file|extension)( type| name)? (is )?(not allowed|blocked|banned|prohibited)|banned (file|filename|extension)/i,
    ],
  },
  {
    topic: 'our-address',
    says: 'refuses mail from the address of this server (its reputation, a blocklist, or its reverse DNS)',
    passes: true,
    subType: 'General',
    text: [
      /spamhaus|spamcop|barracuda(central|networks)|sorbs\.net|abuseat|uceprotect|senderscore|cloudmark|ipremoval|\b(rbl|dnsbl)\b|block ?-?list|black ?-?list/i,
      /reputation|\[(BL|TSS?|CON|IPTS|DYN)\d+\]|\bS(314|315|77)\d\b|client host .*(blocked|rejected)|messages? from \S+ weren.t sent/i,
      /\b(your|the|sending|this|remote|client) (ip|host|server|network)\b.{0,60}(blocked|banned|listed|denied|refused|rejected)/i,
      /\bip\b.{0,40}(blocked|banned|listed|denied)|(banned|blocked|black) (sending )?ip\b|connections? (will|are) not be(ing)? accepted/i,
      /reverse[ -](dns|lookup|hostname|ip)|\bptr\b|\brdns\b|dynamic (ip|address)|helo (command|name|host)?.{0,20}(rejected|invalid)/i,
    ],
  },
  {
    topic: 'too-large',
    says: 'says that the message is too large',
    passes: false,
    subType: 'MessageTooLarge',
    text: [
      /(message|mail|content)( \w+)? (size|length)|(message|mail|size)\b.{0,40}(too (large|big|long)|exceed)|too large|size limit/i,
    ],
  },
  {
    topic: 'relay-denied',
    says: 'does not take mail for this domain (relaying denied)',
    passes: false,
    subType: 'General',
    text: [
      /relay(ing)?\b.{0,30}(denied|not (permitted|allowed)|prohibited|access|disallowed)|(unable|not (allowed|permitted|authorized)) to relay/i,
      /no relay|do not relay|denies relay|rcpthosts|is not hosted here|requires? (smtp )?auth|authentication (is )?required/i,
    ],
  },
  ...(
    [
      ['no-mailbox', 'says that the mailbox does not exist', false, 'NoEmail', /^[45]\.1\.([01236]|10)$/],
      ['mailbox-full', 'says that the mailbox is full', true, 'MailboxFull', /^[45]\.2\.2$/],
      [
        'mailbox-closed',
        'says that the mailbox is closed or disabled',
        false,
        'General',
        /^[45]\.(2\.1|7\.13)$/,
      ],
      ['too-large', 'says that the message is too large', false, 'MessageTooLarge', /^[45]\.(2\.3|3\.4)$/],
      ['sender', 'refuses the sender address', false, 'General', /^[45]\.1\.[78]$/],
      [
        'our-address',
        'refuses mail from this server because of its reverse DNS',
        true,
        'General',
        /^[45]\.7\.25$/,
      ],
      [
        'rate-limited',
        'takes no more mail from us for a while (rate limit)',
        true,
        'General',
        /^[45]\.7\.28$/,
      ],
      [
        'unauthenticated',
        'refuses the message because its SPF, DKIM or DMARC check failed',
        false,
        'General',
        /^[45]\.7\.2[0-7]$/,
      ],
    ] as const
  ).map(([topic, says, passes, subType, enhanced]) => ({ topic, says, passes, subType, enhanced })),
]

/** The rule that fits a reply; undefined when its text tells nothing beyond the code. */
export function ruleFor(reply: Reply): Rule | undefined {
  // Bounded: the text is the remote's, and the patterns look back and forth in it.
  const text = reply.text.slice(0, 2000).replaceAll(/\s+/g, ' ')
  const enhanced = reply.enhanced ?? ''
  return RULES.find((rule) => rule.text?.some((one) => one.test(text)) ?? rule.enhanced?.test(enhanced))
}
