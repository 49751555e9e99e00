// Writes log lines as JSON through pino. Separate from log.ts, so that only programs that need it load pino.
import { type DestinationStream, type LevelWithSilent, pino } from 'pino'
import { lineWriter } from './line-writer.ts'
import { type Logger, loggerTo } from './log.ts'

export interface PinoOptions {
  readonly level?: LevelWithSilent
  /** Where lines go; standard error if left out, because standard output is for data. */
  readonly destination?: DestinationStream
}

/** Pino's own destination ends the process if a line cannot be written. */
const toStandardError = (): DestinationStream =>
  lineWriter(2, (lines) => {
    const time = new Date().toISOString()
    return `${JSON.stringify({ level: 'warn', time, message: 'log lines were dropped', lines })}\n`
  })

export function pinoLogger({ level = 'info', destination = toStandardError() }: PinoOptions = {}): Logger {
  const sink = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: {},
    },
    destination,
  )
  return loggerTo((at, message, fields) => sink[at](fields, message))
}
