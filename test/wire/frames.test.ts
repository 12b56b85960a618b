/** Frames in a stream: found again however the network cuts it, and refused when they are none. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  beginFrame,
  ByteReader,
  ByteWriter,
  endFrame,
  FRAME_BYTES_MAX,
  FrameSplitter,
  GOODBYE,
  MESSAGE,
  PONG,
  readGoodbye,
  readPong,
  writeGoodbye,
  writePing,
  writePong,
} from '../../src/wire/index.ts';

interface Found {
  kind: number;
  body: number[];
  bytes: Uint8Array;
}

function stream(bodies: readonly Uint8Array[], kind = MESSAGE): Uint8Array {
  const out = new ByteWriter();
  for (const body of bodies) {
    const start = beginFrame(out, kind);
    out.raw(body, 0, body.length);
    endFrame(out, start);
  }
  return out.bytes.slice(0, out.length);
}

function split(chunks: readonly Uint8Array[], splitter = new FrameSplitter()) {
  const found: Found[] = [];
  for (const chunk of chunks) {
    const error = splitter.push(chunk, {
      frame: (kind, bytes, start, end) => {
        found.push({ kind, body: [...bytes.subarray(start, end)], bytes });
        return true;
      },
    });
    if (error) return { found, error };
  }
  return { found, error: null };
}

function cut(bytes: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = Math.max(1, sizes[i % sizes.length] ?? 1);
    chunks.push(bytes.slice(at, at + size));
    at += size;
  }
  return chunks;
}

describe('a splitter', () => {
  it('finds every frame, wherever the stream is cut', () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 400 }), { maxLength: 20 });
    const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(bodies, sizes, (frames, pieces) => {
        const { found, error } = split(cut(stream(frames), pieces));
        expect(error).toBeNull();
        expect(found.map(({ body }) => body)).toEqual(frames.map((body) => [...body]));
      }),
    );
  });

  it('hands a frame on where it lies if it lies within one chunk', () => {
    const chunk = stream([Uint8Array.of(1, 2), Uint8Array.of(3)]);
    expect(split([chunk]).found.every(({ bytes }) => bytes === chunk)).toBe(true);
  });

  it('refuses a header of a gigabyte at once, however it arrives', () => {
    const header = Uint8Array.of(0, 0, 0, 0x40);
    for (const size of [1, 2, 3, 4]) {
      expect(split(cut(header, [size])).error).toMatchObject({ code: 'TENURE_FRAME_TOO_LARGE', details: { bytes: 2 ** 30 } });
    }
    expect(split([Uint8Array.of(0xff, 0xff, 0xff, 0xff)]).error).toMatchObject({ details: { bytes: 2 ** 32 - 1 } });
  });

  it('takes a frame of exactly the limit, and none longer', () => {
    const bytes = stream([new Uint8Array(9)]);
    expect(split([bytes], new FrameSplitter(10)).found).toHaveLength(1);
    expect(split([bytes], new FrameSplitter(9)).error?.code).toBe('TENURE_FRAME_TOO_LARGE');
  });

  it('refuses a frame without a kind', () => {
    expect(split([new Uint8Array(4)]).error?.code).toBe('TENURE_BAD_FRAME');
  });

  it('stops when its sink wants no more', () => {
    let frames = 0;
    new FrameSplitter().push(stream([new Uint8Array(1), new Uint8Array(1)]), { frame: () => ++frames > 1 });
    expect(frames).toBe(1);
  });

  it('goes on where its sink wanted no more, wherever the stream is cut', () => {
    const bodies = fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 30 });
    const sizes = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(bodies, sizes, fc.integer({ min: 1, max: 4 }), (frames, pieces, atOnce) => {
        const splitter = new FrameSplitter();
        const found: number[][] = [];
        let most = 0;
        for (const chunk of cut(stream(frames), pieces)) {
          for (let start = 0; start < chunk.length; start = splitter.at) {
            const before = found.length;
            const frame = (_kind: number, bytes: Uint8Array, from: number, to: number): boolean =>
              found.push([...bytes.subarray(from, to)]) - before < atOnce;
            expect(splitter.push(chunk, { frame }, start)).toBeNull();
            most = Math.max(most, found.length - before);
          }
        }
        expect(found).toEqual(frames.map((body) => [...body]));
        expect(most).toBeLessThanOrEqual(atOnce);
      }),
    );
  });

  it('survives any bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 100 })), (chunks) => {
        const { error } = split(chunks, new FrameSplitter(1000));
        expect(error === null || error.code.startsWith('TENURE_')).toBe(true);
      }),
    );
  });
});

describe('a writer', () => {
  it('takes a frame back that is too large, and what was there before stays', () => {
    const out = new ByteWriter();
    endFrame(out, beginFrame(out, MESSAGE));
    const start = beginFrame(out, MESSAGE);
    out.raw(new Uint8Array(FRAME_BYTES_MAX), 0, FRAME_BYTES_MAX);
    expect(() => endFrame(out, start)).toThrow(expect.objectContaining({ code: 'TENURE_FRAME_TOO_LARGE' }));
    expect(split([out.bytes.slice(0, out.length)]).found).toHaveLength(1);
  });
});

describe('the small frames', () => {
  const written = (write: (out: ByteWriter) => void) => {
    const out = new ByteWriter();
    write(out);
    const { found } = split([out.bytes.slice(0, out.length)]);
    const reader = new ByteReader();
    const body = Uint8Array.from(found[0]?.body ?? []);
    reader.reset(body, 0, body.length);
    return { kind: found[0]?.kind, reader };
  };

  it('carry instants both ways', () => {
    const pong = written((out) => writePong(out, { sentUs: 1, receivedWallUs: 2 ** 50, answeredWallUs: 2 ** 50 + 1, answeredMonoUs: 7 }));
    expect(pong.kind).toBe(PONG);
    expect(readPong(pong.reader)).toEqual({ sentUs: 1, receivedWallUs: 2 ** 50, answeredWallUs: 2 ** 50 + 1, answeredMonoUs: 7 });
    expect(readPong(written((out) => writePing(out, 5)).reader)).toBeNull();
  });

  it('say why a connection ends; a reason from the future is a goodbye', () => {
    const goodbye = written((out) => writeGoodbye(out, 'duplicate'));
    expect(goodbye.kind).toBe(GOODBYE);
    expect(readGoodbye(goodbye.reader)).toBe('duplicate');
    const reader = new ByteReader();
    reader.reset(Uint8Array.of(200), 0, 1);
    expect(readGoodbye(reader)).toBe('closing');
  });
});
