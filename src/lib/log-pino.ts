// Writes log lines as JSON through pino. Apart from log.ts, so that only programs that write logs pay for loading pino.
import { type DestinationStream, type LevelWithSilent, pino } from 'pino'
import { type Logger, loggerTo } from './log.ts'

export interface PinoOptions {
  readonly level?: LevelWithSilent
  /** Where lines go; standard error when left out, since standard output belongs to data. */
  readonly destination?: DestinationStream
}

export function pinoLogger({ level = 'info', destination = pino.destination(2) }: PinoOptions = {}): Logger {
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
