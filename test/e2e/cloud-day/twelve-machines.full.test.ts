import { aDay } from './day.ts'

aDay(12)
