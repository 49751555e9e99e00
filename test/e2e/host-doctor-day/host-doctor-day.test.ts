import { aDay } from './day.ts'

aDay()
