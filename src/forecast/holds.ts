// Reasons of a wait by which a person stops a set: what it reports names the hold and why it is there.
export const HOLDS: ReadonlySet<string> = new Set(['HoldPause', 'HoldFreeze'])
