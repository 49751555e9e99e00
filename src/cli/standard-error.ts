// Standard error of programs that run for long, as JSON lines: what cannot be written is counted, and reported once there is room.
import { lineWriter } from '#lib/line-writer.ts'

export const standardError = lineWriter(2, (lines) => {
  const time = new Date().toISOString()
  return `${JSON.stringify({ level: 'warn', time, msg: 'log lines were lost', lines })}\n`
})
