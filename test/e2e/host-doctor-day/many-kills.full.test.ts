import { aDay } from './day.ts'

aDay({ killedEveryMs: 7 * 60_000 })
