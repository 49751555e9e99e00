// How long agent tokens are valid, on clusters where agents are service accounts, and when they are replaced. Pure.

/** What agents become when they join. Both forms work side by side, and a host keeps its form until it joins again. */
export const AGENT_IDENTITIES = ['certificate', 'serviceAccount'] as const
export type AgentIdentity = (typeof AGENT_IDENTITIES)[number]

/** The longest time that a stolen token works. A kube-apiserver issues none that is valid for less than ten minutes. */
export const LONGEST_TOKEN_SECONDS = 3_600

/** How the approver replaces tokens, and how often agents request them. */
export interface TokenRhythm {
  readonly lifeSeconds: number
  /** Replaced at this age. During the rest of its lifetime the approver may be unavailable before agents become silent. */
  readonly replaceAfterSeconds: number
  readonly askAgainSeconds: number
}

/**
 * When a token is replaced it has 45 minutes left, and an agent may fetch the next one five minutes later: an approver that is unavailable for half an
 * hour makes no agent silent.
 */
export const TOKEN_RHYTHM: TokenRhythm = {
  lifeSeconds: LONGEST_TOKEN_SECONDS,
  replaceAfterSeconds: 900,
  askAgainSeconds: 300,
}

/** The shortest lifetime that an API server issues: a host has this long to run its join command. */
export const JOIN_TOKEN_SECONDS = 900
