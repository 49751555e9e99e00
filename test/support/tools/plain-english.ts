// The words and forms that shown text avoids, with what to write instead. One table, so that a reviewer can add a row when a sentence makes them stop.
export interface Avoided {
  readonly form: RegExp
  readonly instead: string
}

const avoid = (form: RegExp, instead: string): Avoided => ({ form, instead })

export const AVOIDED: readonly Avoided[] = [
  avoid(/\b(nobody|somebody|whoever|anybody|everybody)\b/i, 'name the person or program: "a user", "another client"'),
  avoid(/\btold of\b|\bis told\b|\bare told\b/i, 'reported, notified'),
  avoid(/\banew\b/i, 'again'),
  avoid(/\bat work\b/i, 'running, switching'),
  avoid(/\b(comes?|came|coming) to (an end|run|work|be|it)\b/i, 'ends, starts, finishes'),
  avoid(/\bto be had\b/i, 'available'),
  avoid(/\bthe (\{\}|\d+)\. time\b/i, '3rd restart'),
  avoid(/\bnot heard\b|\bheard (of|from)\b|\bhears? (of|from)\b/i, 'silent, no heartbeat since'),
  avoid(/\blook(s|ed|ing)? (again|at)\b/i, 'reconcile, check, read'),
  avoid(/\bis gone\b|\bare gone\b|\bwas gone\b|\bgoes away\b/i, 'was deleted, does not exist, ended'),
  avoid(/\b(taken|given|gave|took|takes|gives) back\b/i, 'revoked, returned, released'),
  avoid(/\bgo(es)? on\b|\bwent on\b|\bgoing on\b/i, 'continues'),
  avoid(/\b(held|holds|hold|holding) (it |them |this )?up\b/i, 'blocks, blocked by'),
  avoid(/\b(quarrel|rival|heir|wish)(s|es|ed)?\b/i, 'conflict, competing set, successor, request'),
  avoid(/\bwould help\b/i, 'unblocks when'),
  avoid(/\blets? (it|them|this) (pass|go on)\b/i, 'permits, continues'),
  avoid(/\bfor long\b|\bin a moment\b/i, 'give the time: since 02:03 (4m)'),
  avoid(/\bas (it|they) (should|were|says?)\b/i, 'desired, unchanged, as expected'),
  avoid(/(\{\}|\b\d+) may( be)?\s*$|(\{\}|\b\d+) may[,;]/i, '(limit 1), (0 allowed)'),
  avoid(/\bshall\b/i, 'must, should, will'),
  avoid(/\bno more\b(?! than)/i, 'no longer'),
  avoid(/\bwhat (is|was|are|were|has|had) \w+ (is|was|are|were|may|stays?|goes|ends?|waits?)\b/i, 'name the thing'),
  avoid(
    /\bwho (is|was|are|were|has|had|may|does) \w+ (is|was|are|were|may|stays?|goes|ends?|waits?)\b/i,
    'name the person',
  ),
  avoid(/\b(stand|stands|stood) (there|in|on|at|by|for|still)\b/i, 'is, are'),
  avoid(/\bunwell\b/i, 'unhealthy, degraded'),
  avoid(/\bwaves?\b/i, 'slice, or step'),
  avoid(/\ba person has to\b|\bneeds? a person\b/i, 'needs manual intervention'),
  avoid(/\bthere is nothing of\b|\bof ours\b/i, 'name it: KubeNode objects'),
  avoid(/\bthat there (is|are|was|were)\b/i, 'leave it out'),
  avoid(/\bon its own word\b|\bby and by\b|\bthereof\b|\bherewith\b/i, 'say it plainly'),
  avoid(
    /\b(behaviour|colour|honour|favour|centre|licence|neighbour|labell|modell|\w+(recogn|normal|serial|initial|author|organ|summar|final|real)is(e|es|ed|ing))/i,
    'American spelling',
  ),
  avoid(/[a-z]!(\s|$)/, 'no exclamation marks'),
]

/** Fine in a document, too vague in a status: a reader of one line must learn who reported what. */
export const AVOIDED_IN_STATUS: readonly Avoided[] = [
  avoid(/\b(says?|said|saying)\b/i, 'reports, states, requires; or leave it out'),
]

export interface Found {
  readonly text: string
  readonly word: string
  readonly instead: string
}

/** `quoted` and `code` spans are names of things, not our words. */
const QUOTED = /`[^`]*`/g

export function avoidedIn(text: string, forms = AVOIDED): readonly Found[] {
  const own = text.replace(QUOTED, '``')
  return forms.flatMap(({ form, instead }) => {
    const match = form.exec(own)
    return match === null ? [] : [{ text, word: match[0].trim(), instead }]
  })
}
