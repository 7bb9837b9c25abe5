// A picture of a page with 255 colours at most: half of the bytes, and hardly to be told from it.
import { deflateSync } from "node:zlib";

const table = Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});
const crc_of = (bytes) => ~bytes.reduce((crc, byte) => table[(crc ^ byte) & 255] ^ (crc >>> 8), ~0) >>> 0;

function chunk(type, body) {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const whole = Buffer.alloc(named.length + 8);
  whole.writeUInt32BE(body.length, 0);
  named.copy(whole, 4);
  whole.writeUInt32BE(crc_of(named), whole.length - 4);
  return whole;
}

// The browser of `page` reads the PNG.
export async function small_png(page, base64, most = 255) {
  const { width, height, rgba } = await page.evaluate(async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    const { data } = canvas.getImageData(0, 0, image.width, image.height);
    let out = "";
    for (let at = 0; at < data.length; at += 30000) out += String.fromCharCode(...data.subarray(at, at + 30000));
    return { width: image.width, height: image.height, rgba: btoa(out) };
  }, base64);
  const pixels = Buffer.from(rgba, "base64");
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += 4) {
    const colour = pixels.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, most).map(([colour]) => colour);
  const apart = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
  const nearest = new Map();
  for (const colour of counts.keys())
    nearest.set(colour, palette.reduce((best, one, at) => (apart(one, colour) < apart(palette[best], colour) ? at : best), 0));
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = nearest.get(pixels.readUIntBE(4 * (y * width + x), 3));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8); // 8 bits a pixel, of a palette
  const colours = Buffer.from(palette.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255]));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}
