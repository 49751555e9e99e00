import { aDay } from './day.ts'

// A provider that is killed every few seconds never serves a whole list of 250 hosts on a small machine, and one reply in seven is lost instead.
aDay(200, { providerKillsMs: [15_000, 30_000], lostReplies: 0.15 })
