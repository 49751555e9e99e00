// How long tokens of agents are valid, on clusters where agents are service accounts, and when they are replaced. Pure.

/** What agents become when they join: both forms work beside each other, and a host keeps its own until it joins again. */
export const AGENT_IDENTITIES = ['certificate', 'serviceAccount'] as const
export type AgentIdentity = (typeof AGENT_IDENTITIES)[number]

/** What a thief of a token has at most. A kube-apiserver gives none that is valid for less than ten minutes. */
export const LONGEST_TOKEN_SECONDS = 3_600

/** How the approver replaces tokens, and how often agents ask for them. */
export interface TokenRhythm {
  readonly lifeSeconds: number
  /** Replaced at this age. For the rest of its life the approver may be away before agents fall silent. */
  readonly replaceAfterSeconds: number
  readonly askAgainSeconds: number
}

/** When it is replaced, a token has 45 minutes left, and an agent may fetch the next one five minutes later: an approver that is away for half an hour silences no agent. */
export const TOKEN_RHYTHM: TokenRhythm = {
  lifeSeconds: LONGEST_TOKEN_SECONDS,
  replaceAfterSeconds: 900,
  askAgainSeconds: 300,
}

/** Shortest that an API server gives: a host has this long to run its join command. */
export const JOIN_TOKEN_SECONDS = 900
