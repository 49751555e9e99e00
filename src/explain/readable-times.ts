// Times in sentences, as people read them. Statuses have RFC 3339, which programs read; a page or a terminal says "on Sat 31 Jan at 22:00 UTC". Pure.

/** Only after these words: output of a program, paths and commands stay as they are. */
const TIME = /\b(at|from|until|since|before|after) (\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z)(?![\w/])/g

/** The weekday says which year is meant, without the date of the reader: a sentence that is kept stays true. */
export const withReadableTimes = (text: string): string =>
  text.replace(TIME, (whole, before: string, stamp: string) => {
    const at = new Date(stamp)
    if (Number.isNaN(at.getTime())) return whole
    const [weekday = '', day = '', month = '', , clock = ''] = at.toUTCString().split(' ')
    const [date, time] = [`${weekday.slice(0, 3)} ${Number(day)} ${month}`, `${clock.replace(/:00$/, '')} UTC`]
    return before === 'at' ? `on ${date} at ${time}` : `${before} ${date} ${time}`
  })
