// Standard error of long-running programs as JSON lines: lines that cannot be written are counted, and reported once there is room.
import { lineWriter } from '../line-writer.ts'

export const standardError = lineWriter(2, (lines) => {
  const time = new Date().toISOString()
  return `${JSON.stringify({ level: 'warn', time, msg: 'log lines were lost', lines })}\n`
})
